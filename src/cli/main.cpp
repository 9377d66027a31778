#include "cli/commands.hpp"

int main(int argc, char** argv) { return flowfabric::cli::run({argv + 1, argv + argc}); }
