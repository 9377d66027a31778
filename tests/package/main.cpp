// Proves that an installed FlowFabric can be found, compiled against, linked and run.
#include <flowfabric/engine.hpp>

int main() {
  auto engine = flowfabric::Engine::open("memory:");
  return engine ? 0 : 1;
}
