#include "cli/settings.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "support/temp_dir.hpp"

namespace flowfabric::cli {
namespace {

struct Given {
  std::map<std::string, std::string> environment{};
  Arguments arguments{};

  Given& option(const std::string& name, const std::string& value) {
    arguments.options[name] = {value};
    return *this;
  }

  Result<Settings> gather() const {
    return gather_settings(arguments, [this](const char* name) -> const char* {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    });
  }
  Result<ServeConfig> read() const {
    auto settings = gather();
    if (!settings) return Unexpected(settings.error());
    return read_settings(*settings);
  }
  std::string problem() const {
    const auto config = read();
    return config ? "none" : config.error().message;
  }
};

TEST(Settings, AreGoodAsTheyCome) {
  const auto config = Given{}.read();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->store, "");
  EXPECT_EQ(config->api.address, "127.0.0.1");
  EXPECT_EQ(config->api.port, 7070);
  EXPECT_FALSE(config->api.api_keys);
  EXPECT_EQ(config->engine.default_retention_ms, EngineOptions{}.default_retention_ms);
  EXPECT_EQ(config->engine.max_payload_bytes, EngineOptions{}.max_payload_bytes);
  EXPECT_EQ(config->api.http.max_body_bytes, net::ServerOptions{}.max_body_bytes);
  EXPECT_EQ(config->api.http.idle_timeout, net::ServerOptions{}.idle_timeout);
}

TEST(Settings, TheDashboardIsOnUnlessItIsSwitchedOff) {
  EXPECT_TRUE(Given().read()->api.dashboard.enabled);
  Given option;
  option.option("--dashboard", "false");
  EXPECT_FALSE(option.read()->api.dashboard.enabled);
  Given environment;
  environment.environment = {{"FLOWFABRIC_DASHBOARD", "false"}};
  EXPECT_FALSE(environment.read()->api.dashboard.enabled);
  const test::TempDir folder;
  const std::string path = folder.file("ff.toml");
  std::ofstream(path) << "dashboard = false\n";
  Given file;
  file.option("--config", path);
  EXPECT_FALSE(file.read()->api.dashboard.enabled);
  option.option("--dashboard", "no");
  EXPECT_EQ(option.read().error().message, "dashboard (--dashboard): is \"no\"; must be one of false, true");
}

TEST(Settings, TheCommandLineComesFirstThenTheEnvironmentThenTheFile) {
  const test::TempDir folder;
  const std::string path = folder.file("ff.toml");
  std::ofstream(path) << "pool_threads = 3\nio_threads = 4\nwriters = 5\ncors_origins = [\"http://a\", \"http://b\"]\n";
  Given given;
  given.option("--config", path).option("--pool-threads", "1");
  given.environment = {{"FLOWFABRIC_POOL_THREADS", "2"}, {"FLOWFABRIC_IO_THREADS", "2"}};
  const auto config = given.read();
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->api.pool_threads, 1u);
  EXPECT_EQ(config->api.io_threads, 2u);
  EXPECT_EQ(config->engine.writers, 5u);
  EXPECT_EQ(config->api.cors_origins, (std::vector<std::string>{"http://a", "http://b"}));
  const std::string printed = print_settings(*given.gather());
  EXPECT_NE(printed.find("pool_threads = \"1\"  # from --pool-threads"), std::string::npos);
  EXPECT_NE(printed.find("io_threads = \"2\"  # from FLOWFABRIC_IO_THREADS"), std::string::npos);
  EXPECT_NE(printed.find("writers = \"5\"  # from file " + path + ", line 3\n"), std::string::npos);

  // The printed text is an equivalent config file.
  std::ofstream(path) << printed;
  Given again;
  again.option("--config", path);
  const auto expected = given.gather();
  const auto read = again.gather();
  ASSERT_TRUE(read) << read.error().message;
  for (const auto& [name, setting] : *read) EXPECT_EQ(setting.value, expected->at(name).value) << name;
}

TEST(Settings, StrangeValuesArePrintedSoThatTheyCanBeRead) {
  const std::string strange = "\"\\\x7f\n\u00e4";
  const auto read = settings_of_text(print_settings(*Given{}.option("--service-name", strange).gather()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->at("service_name").value, strange);
}

TEST(Settings, VariablesOfOtherProgramsCountAfterOurs) {
  Given given;
  given.environment = {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://shared:4318"}, {"OTEL_SERVICE_NAME", "shop"}};
  EXPECT_EQ(given.gather()->at("otlp_endpoint").origin, "OTEL_EXPORTER_OTLP_ENDPOINT");
  EXPECT_EQ(given.read()->tracing->exporter.endpoint.url, "http://shared:4318");
  EXPECT_EQ(given.read()->tracing->exporter.resource.service_name, "shop");
  given.environment["FLOWFABRIC_OTLP_ENDPOINT"] = "http://ours:4318";
  EXPECT_EQ(given.read()->tracing->exporter.endpoint.url, "http://ours:4318");
  given.option("--otlp-endpoint", "http://option:4318");
  EXPECT_EQ(given.read()->tracing->exporter.endpoint.url, "http://option:4318");

  const test::TempDir folder;
  std::ofstream(folder.file("ff.toml")) << "service_name = \"file\"\n";
  given.option("--config", folder.file("ff.toml"));
  EXPECT_EQ(given.gather()->at("service_name").value, "shop") << "the environment comes before the file";
}

TEST(Settings, TracingIsOffUntilThereIsACollector) {
  EXPECT_FALSE(Given{}.read()->tracing);
  Given given;
  given.option("--otlp-endpoint", "https://collector/otlp/").option("--trace-ratio", "0.25");
  given.option("--otlp-headers", "api-key=a%2Cb , X-Team= blue,");
  const auto config = given.read();
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_TRUE(config->tracing);
  EXPECT_EQ(config->tracing->exporter.endpoint.target, "/otlp/v1/traces");
  EXPECT_EQ(config->tracing->exporter.headers, (net::Headers{{"api-key", "a,b"}, {"X-Team", "blue"}}));
  EXPECT_EQ(config->tracing->tracer.ratio, 0.25);

  const auto problem = [](const char* option, const char* value) { return Given{}.option(option, value).problem(); };
  EXPECT_EQ(problem("--otlp-endpoint", "collector:4317"),
            "otlp_endpoint (--otlp-endpoint): is \"collector:4317\"; must be http://HOST:PORT or https://HOST:PORT, "
            "optionally with a path");
  EXPECT_EQ(problem("--trace-ratio", "10%"),
            "trace_ratio (--trace-ratio): is \"10%\"; must be a number from 0 to 1, like 0.1");
  for (const char* bad : {"1.1", "-0.1", "", "nan", "inf"}) EXPECT_NE(problem("--trace-ratio", bad), "none") << bad;
  EXPECT_NE(problem("--service-name", ""), "none");
  EXPECT_NE(problem("--otlp-ca-file", "/nowhere/ca.pem"), "none");
  for (const char* bad : {"secret", "=secret", "a b=secret", "key=%zzsecret", "key=%0Asecret"}) {
    EXPECT_EQ(problem("--otlp-headers", bad),
              "otlp_headers: must be NAME=VALUE, separated by commas, with values percent-encoded")
        << bad;
  }
}

TEST(Settings, AFileIsReadWholeOrRefused) {
  const test::TempDir folder;
  const std::string path = folder.file("ff.toml");
  Given given;
  given.option("--config", path);
  EXPECT_EQ(given.problem(), "--config: cannot read " + path);
  std::ofstream(path) << "listn = \"x\"\n";
  EXPECT_EQ(given.problem(), path + ": line 1: listn: unknown setting; --print-config lists all");
  EXPECT_EQ(given.read().error().field, "listn");
  std::ofstream(path) << "\nio_threads = 0\n";
  EXPECT_EQ(given.problem(), "io_threads (file " + path + ", line 2): is \"0\"; must be a whole number from 1 to 64");
  std::ofstream(path) << "listen = x\n";
  EXPECT_TRUE(given.problem().starts_with(path + ": line 1: ")) << given.problem();
}

TEST(Settings, ADirectoryIsNoConfigFile) {
  const test::TempDir folder;
  Given given;
  given.option("--config", folder.file(""));
  EXPECT_EQ(given.problem(), "--config: " + folder.file("") + " is a directory, not a file");
  given.arguments.options.clear();
  given.environment = {{"FLOWFABRIC_CONFIG", folder.file("")}};
  EXPECT_NE(given.problem(), "none");
}

TEST(Settings, VariablesThatNothingReadsAreRefused) {
  EXPECT_TRUE(check_variables({"HOME", "FLOWFABRICX", "FLOWFABRIC_AUTH", "FLOWFABRIC_STORE", "FLOWFABRIC_CONFIG",
                               "FLOWFABRIC_PROFILE", "FLOWFABRIC_API_KEY", "FLOWFABRIC_API_KEY_FILE",
                               "FLOWFABRIC_CA_FILE", "FLOWFABRIC_LOG"}));
  for (const std::string bad : {"FLOWFABRIC_AUHT", "FLOWFABRIC_", "FLOWFABRIC_auth", "FLOWFABRIC_LISTEN_ADDRESS"}) {
    const auto checked = check_variables({"HOME", bad});
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().field, bad);
    EXPECT_TRUE(checked.error().message.starts_with(bad + ": unknown environment variable")) << checked.error().message;
  }
  EXPECT_TRUE(check_variables({"FLOWFABRIC_SERVICE_HOST", "FLOWFABRIC_SERVICE_PORT", "FLOWFABRIC_SERVICE_PORT_HTTP",
                               "FLOWFABRIC_PORT", "FLOWFABRIC_PORT_7070_TCP", "FLOWFABRIC_PORT_7070_TCP_ADDR",
                               "FLOWFABRIC_API_SERVICE_HOST", "FLOWFABRIC_API_PORT"}))
      << "Kubernetes makes these for a service called flowfabric or flowfabric-api";
}

TEST(Settings, SecretsAreNotShown) {
  Given given;
  given.option("--store", "postgres://u:hush@h/db?sslpassword=hush");
  given.option("--otlp-headers", "api-key=hush,x-team=hush");
  const auto settings = given.gather();
  ASSERT_TRUE(settings);
  const std::string printed = print_settings(*settings);
  EXPECT_EQ(printed.find("hush"), std::string::npos) << printed;
  EXPECT_NE(printed.find("store = \"postgres://u:***@h/db?sslpassword=***\"  # from --store"), std::string::npos);
  EXPECT_NE(printed.find("otlp_headers = \"api-key=***,x-team=***\""), std::string::npos);
  EXPECT_EQ(given.read()->store, "postgres://u:hush@h/db?sslpassword=hush") << "only what is shown is masked";
}

TEST(Settings, TheDefaultStoreHasAPlaceOfItsOwn) {
  const auto place = [](const std::map<std::string, std::string>& environment) {
    const auto folder = data_folder([&](const char* name) -> const char* {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    });
    return folder ? folder->string() : "!" + folder.error().field;
  };
  EXPECT_EQ(place({{"XDG_DATA_HOME", "/data"}, {"HOME", "/home/a"}}), "/data/flowfabric");
  EXPECT_EQ(place({{"XDG_DATA_HOME", ""}, {"HOME", "/home/a"}}), "/home/a/.local/share/flowfabric");
  EXPECT_EQ(place({{"HOME", "/home/a"}}), "/home/a/.local/share/flowfabric");
  EXPECT_EQ(place({{"XDG_DATA_HOME", ""}, {"HOME", ""}}), "!store");
  EXPECT_EQ(place({}), "!store");
  EXPECT_EQ(place({{"XDG_DATA_HOME", "data"}, {"HOME", "/home/a"}}), "!XDG_DATA_HOME");
  EXPECT_EQ(place({{"HOME", "here"}}), "!HOME");
}

TEST(Settings, RefuseToListenToOthersWithoutKeys) {
  Given given;
  given.option("--listen", "0.0.0.0:80");
  EXPECT_NE(given.problem().find("set auth to keys"), std::string::npos) << given.problem();
  given.option("--auth", "keys");
  EXPECT_EQ(given.problem(), "none");
  for (const std::string good : {"127.0.0.1:1", "[::1]:65535", "localhost:0", "8080"}) {
    EXPECT_EQ(Given{}.option("--listen", good).problem(), "none") << good;
  }
  for (const std::string bad : {"", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", ":"}) {
    EXPECT_EQ(Given{}.option("--listen", bad).problem(),
              "listen (--listen): is \"" + bad + "\"; must be ADDRESS:PORT or PORT");
  }
}

TEST(Settings, EachRefusalNamesTheSettingAndItsOrigin) {
  EXPECT_EQ(Given{}.option("--io-threads", "0").problem(),
            "io_threads (--io-threads): is \"0\"; must be a whole number from 1 to 64");
  Given given;
  given.environment = {{"FLOWFABRIC_IDLE_TIMEOUT", "soon"}};
  EXPECT_EQ(
      given.problem(),
      "idle_timeout (FLOWFABRIC_IDLE_TIMEOUT): is \"soon\"; must be a duration like 500ms, 30s or 2h, at most 1h");
  EXPECT_EQ(Given{}.option("--auth", "maybe").problem(), "auth (--auth): is \"maybe\"; must be one of none, keys");
  EXPECT_EQ(Given{}.option("--tls-certificate", "x.pem").problem(),
            "tls_private_key: is \"\"; TLS needs both tls_certificate and tls_private_key");
  EXPECT_EQ(Given{}.option("--cors-origins", "example.com").problem(),
            "cors_origins (--cors-origins): is \"example.com\"; each must be * or begin with http:// or https://");
}

TEST(Settings, EveryOneOfThemIsReadByTheServer) {
  // An impossible value is refused for each setting, so every setting is checked.
  for (const SettingSpec& spec : setting_specs()) {
    if (spec.name == "store" || spec.name == "tls_certificate" || spec.name == "tls_private_key") continue;
    EXPECT_NE(Given{}.option(spec.option(), "\x01").problem(), "none") << spec.name;
  }
}

}  // namespace
}  // namespace flowfabric::cli
