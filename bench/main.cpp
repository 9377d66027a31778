#include <cstdio>
#include <string>
#include "load.hpp"
using namespace flowfabric;
int main(int argc, char** argv) {
  EngineOptions o; o.migrate = true;
  if (argc > 3) o.writers = static_cast<unsigned>(atoi(argv[3]));
  auto e = Engine::open(argv[1], o);
  if (!e) { std::fprintf(stderr, "%s\n", e.error().message.c_str()); return 1; }
  bench::LoadOptions l; if (argc > 2) l.callers = atoi(argv[2]);
  auto f = bench::run_load(**e, l);
  std::printf("%.0f cycles/s, create %.2f/%.2f claim %.2f/%.2f complete %.2f/%.2f ms, %.1f cmds/batch, cpu %.1f us/cycle\n", f.cycles_per_second, f.create_p50_ms, f.create_p99_ms, f.claim_p50_ms, f.claim_p99_ms, f.complete_p50_ms, f.complete_p99_ms, f.commands_per_batch, f.cpu_us_per_cycle);
}
