# sh v1.sh LCI-V1: the name of the package for pkg-config.
set -e
${CC:-gcc} -std=c99 -Wall -Wextra -Wpedantic -Werror v1_consumer.c $(pkg-config --cflags --libs "$1") -o v1_consumer
