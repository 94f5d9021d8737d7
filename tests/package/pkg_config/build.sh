set -e
pkg-config --exists 'lci >= 2.0.0'
${CXX:-g++} -std=c++17 consumer.cpp $(pkg-config --cflags --libs lci) -o consumer
