# sh lct.sh LCI LCT: the names of the two packages for pkg-config.
set -e
${CC:-gcc} -std=c99 -Wall -Wextra -Wpedantic -Werror lct_consumer.c $(pkg-config --cflags --libs "$2") -o lct_consumer
${CXX:-g++} -std=c++17 -Wall -Wextra -Wpedantic -Werror both_consumer.cpp $(pkg-config --cflags --libs "$1" "$2") \
  -o both_consumer
