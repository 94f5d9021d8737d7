# bash completion for lcirun
_lcirun() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
  local flags="--label --quiet --verbose --version --help --report-bindings"
  local valued="--ranks --env --hosts --hostfile --ssh --proxy --host-timeout --wdir --bind --timeout
    --output --error --gdb --gdb-mode --valgrind"
  COMPREPLY=()
  # From the program on, words are its own.
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      -n) ((i++)) ;;
      --)
        _command_offset $((i + 1)) 2>/dev/null || mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return ;;
      -*)
        case " $(echo $valued) " in *" ${COMP_WORDS[i]} "*) ((i++)) ;; esac ;;
      *)
        _command_offset "$i" 2>/dev/null || mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return ;;
    esac
  done
  case $prev in
    --bind) mapfile -t COMPREPLY < <(compgen -W "core socket none" -- "$cur") ;;
    --gdb-mode) mapfile -t COMPREPLY < <(compgen -W "auto xterm server batch" -- "$cur") ;;
    --gdb | --valgrind) mapfile -t COMPREPLY < <(compgen -W "all" -- "$cur") ;;
    --hosts) mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur") ;;
    --env) mapfile -t COMPREPLY < <(compgen -e -- "$cur") ;;
    --ssh | --proxy) mapfile -t COMPREPLY < <(compgen -c -f -- "$cur") ;;
    --wdir) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    --hostfile | --output | --error) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    -n | --ranks | --timeout | --host-timeout) ;;
    *)
      if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "-n -q -v -h $flags $valued" -- "$cur")
      else
        mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
      fi ;;
  esac
}
complete -o filenames -F _lcirun lcirun
