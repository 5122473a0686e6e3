#include "ptyche/live/view_server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/live/image_pyramid.h"

namespace ptyche {

std::vector<Field> fields(ViewOptions& options) {
  return {{.name = "view",
           .target = &options.view,
           .help = "web page that shows the run: PORT (on this machine alone) or ADDRESS:PORT",
           .implied = "8642",
           .affects_result = false},
          {.name = "token",
           .target = &options.token,
           .help = "password of the page for Stop, Keep and Pause; a new one is printed where none "
                   "is given",
           .affects_result = false}};
}

namespace {

constexpr std::size_t kThreads = 40, kMostListeners = 24;
constexpr int kSeconds = 5;  // that a request or an answer may take to move on
constexpr std::size_t kMostPayload = 4096;
/// A page asks for all that is new after each event: several changes are one.
constexpr std::chrono::milliseconds kBetweenEvents{400};

std::string new_token() {
  std::array<unsigned char, 12> bytes;
  require(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1,
          "no random numbers for a token");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

bool same_token(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

/// Where it listens.
struct ViewPlace {
  std::string host = "127.0.0.1";
  int port = 8642;
};

static ViewPlace place_in(const std::string& text) {
  ViewPlace place;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos) place.host = text.substr(0, colon);
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  const auto [end, fault] = std::from_chars(port.data(), port.data() + port.size(), place.port);
  require(fault == std::errc() && end == port.data() + port.size() && place.port >= 0 &&
              place.port < 65536,
          "--view: expected PORT or ADDRESS:PORT, found '{}'", text);
  return place;
}

namespace {

void send(httplib::Response& response, const SharedTile& tile) {
  response.set_header("X-Rows", std::to_string(tile->rows));
  response.set_header("X-Cols", std::to_string(tile->cols));
  response.set_content_provider(
      tile->bytes.size(), "application/octet-stream",
      [tile](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(tile->bytes.data() + offset, length);
      });
}

/// A whole number 0..most of a request; nothing for what is none.
std::optional<std::int64_t> whole(const httplib::Request& request, const char* name,
                                  std::int64_t most) {
  const std::string text = request.get_param_value(name);
  std::int64_t value = -1;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good =
      fault == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most;
  return good ? std::optional(value) : std::nullopt;
}

}  // namespace

struct ViewServer::Server {
  Server(LiveBoard& live_board, const ViewOptions& options)
      : board(live_board),
        place(place_in(options.view)),
        token(options.token.empty() ? new_token() : options.token) {}

  LiveBoard& board;
  ViewPlace place;
  std::string token, address;
  ImagePyramids pyramids;
  std::mutex pattern_mutex;
  at::Tensor pattern;  // of which pattern_tile was made
  SharedTile pattern_tile;
  std::atomic<std::size_t> listeners{0};
  std::atomic<bool> stopping{false}, ended{false};
  httplib::Server http;
  std::thread thread;

  /// The names under which this server is meant; others are those of a page of another site whose
  /// name was made to point here.
  bool is_own_host(const std::string& host) const {
    const std::string port = fmt::format(":{}", place.port);
    for (const std::string& name :
         {place.host, std::string("127.0.0.1"), std::string("localhost"), std::string("[::1]")})
      if (host == name + port || (place.port == 80 && host == name)) return true;
    // Whoever listens on all addresses is known by any of them, but not by names.
    const bool all = place.host == "0.0.0.0" || place.host == "::";
    return all && host.ends_with(port) &&
           std::ranges::all_of(host.substr(0, host.size() - port.size()),
                               [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  }

  bool is_allowed(const httplib::Request& request) const {
    const std::string host = request.get_header_value("Host"),
                      origin = request.get_header_value("Origin");
    if (!is_own_host(host)) return false;
    if (!origin.empty() && origin != "http://" + host) return false;
    return request.get_header_value("Sec-Fetch-Site") != "cross-site";
  }

  SharedImage image_named(const std::string& which) const {
    return which == "network"  ? board.network()
           : which == "solver" ? board.solver()
           : which == "other"  ? board.other()
                               : board.shown();
  }

  /// Nothing for what is none.
  std::optional<TileRequest> tile_request(const httplib::Request& request) const {
    using What = TileRequest::What;
    const auto level = whole(request, "level", 20);
    const auto row = whole(request, "row", 1 << 20), col = whole(request, "col", 1 << 20);
    const std::string what = request.get_param_value("what"),
                      beside = request.get_param_value("beside");
    static const std::map<std::string, What> known = {{"phase", What::phase},
                                                      {"amplitude", What::amplitude},
                                                      {"coverage", What::coverage},
                                                      {"trust", What::trust}};
    const auto found = known.find(what);
    if (!level || !row || !col || found == known.end()) return std::nullopt;
    return TileRequest{.what = found->second,
                       .level = *level,
                       .row = *row,
                       .col = *col,
                       .without_ramp = request.get_param_value("ramp") == "1",
                       .beside = beside.empty() ? nullptr : image_named(beside)};
  }

  void tile(const httplib::Request& request, httplib::Response& response) {
    const SharedImage image = image_named(request.get_param_value("image"));
    const auto wanted = tile_request(request);
    if (!wanted) return void(response.status = 400);
    const SharedTile tile = image ? pyramids.tile(image, *wanted) : nullptr;
    if (!tile) return void(response.status = 404);
    send(response, tile);
  }

  void newest_pattern(httplib::Response& response) {
    const auto [counts, index] = board.pattern();
    if (!counts.defined()) return void(response.status = 404);
    response.set_header("X-Index", std::to_string(index));
    const std::lock_guard lock(pattern_mutex);
    if (!pattern.is_same(counts)) pattern_tile = tile_of(pattern = counts);
    send(response, pattern_tile);
  }

  void events(httplib::Response& response) {
    if (++listeners > kMostListeners) {
      --listeners;
      response.status = 503;
      return;
    }
    struct Sent {
      std::uint64_t version = 0;
      std::chrono::steady_clock::time_point when = {};
    };
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, sent = std::make_shared<Sent>()](std::size_t, httplib::DataSink& sink) {
          std::this_thread::sleep_until(sent->when + kBetweenEvents);
          const std::uint64_t version = board.wait(sent->version);
          if (stopping) return false;
          const std::string text = version > sent->version ? "data: " + board.status_json() + "\n\n"
                                                           : ": still here\n\n";
          *sent = {version, std::chrono::steady_clock::now()};
          return sink.write(text.data(), text.size());
        },
        [this](bool) { --listeners; });
  }

  void command(const httplib::Request& request, httplib::Response& response,
               std::atomic<bool>& what, bool toggles) {
    if (!same_token(request.get_header_value("X-Ptyche-Token"), token))
      return void(response.status = 403);
    what = toggles ? !what : true;
    response.set_content(board.status_json(), "application/json");
  }

  void declare_routes();
};

void ViewServer::Server::declare_routes() {
  using httplib::Request, httplib::Response;
  http.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  http.set_payload_max_length(kMostPayload);
  http.set_read_timeout(kSeconds).set_write_timeout(kSeconds).set_keep_alive_timeout(2);
  http.set_keep_alive_max_count(100);
  http.set_tcp_nodelay(true);
  http.set_socket_options([](socket_t socket) {  // not SO_REUSEPORT: two runs would share a port
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  http.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                            {"X-Frame-Options", "DENY"},
                            {"Cache-Control", "no-store"},
                            {"Referrer-Policy", "no-referrer"},
                            {"Content-Security-Policy",
                             "default-src 'none'; script-src 'unsafe-inline'; style-src "
                             "'unsafe-inline'; img-src data:; connect-src 'self'; "
                             "frame-ancestors 'none'"}});
  http.set_pre_routing_handler([this](const Request& request, Response& response) {
    work_on_one_thread();
    // No order has a body and nobody needs parts of an answer; the library bounds neither.
    const bool reads = request.method == "GET" || request.method == "HEAD";
    const std::string length = request.get_header_value("Content-Length");
    const bool small = request.ranges.empty() && !request.has_header("Transfer-Encoding") &&
                       (reads || length.empty() || length == "0");
    if (small && is_allowed(request)) return httplib::Server::HandlerResponse::Unhandled;
    response.status = small ? 403 : 413;
    return httplib::Server::HandlerResponse::Handled;
  });
  http.Get("/", [](const Request&, Response& response) {
    response.set_content(view_page(), "text/html; charset=utf-8");
  });
  http.Get("/api/state", [this](const Request&, Response& r) {
    r.set_content(board.status_json(), "application/json");
  });
  http.Get("/api/curves", [this](const Request&, Response& r) {
    r.set_content(board.curves_json(), "application/json");
  });
  http.Get("/api/events", [this](const Request&, Response& r) { events(r); });
  http.Get("/api/tile", [this](const Request& request, Response& r) { tile(request, r); });
  http.Get("/api/positions", [this](const Request&, Response& r) {
    const std::vector<float> places = board.positions();
    r.set_content(reinterpret_cast<const char*>(places.data()), places.size() * sizeof(float),
                  "application/octet-stream");
  });
  http.Get("/api/pattern", [this](const Request&, Response& r) { newest_pattern(r); });
  http.Post("/api/stop",
            [this](const Request& q, Response& r) { command(q, r, board.stop, false); });
  http.Post("/api/keep",
            [this](const Request& q, Response& r) { command(q, r, board.keep, false); });
  http.Post("/api/pause",
            [this](const Request& q, Response& r) { command(q, r, board.paused, true); });
}

ViewServer::ViewServer(LiveBoard& board, const ViewOptions& options)
    : server_(std::make_unique<Server>(board, options)) {
  Server& server = *server_;
  server.declare_routes();
  if (server.place.port == 0) {
    server.place.port = server.http.bind_to_any_port(server.place.host);
    require(server.place.port > 0, "--view: no free port on {}", server.place.host);
  } else {
    require(server.http.bind_to_port(server.place.host, server.place.port),
            "--view: cannot listen on {}:{}; another program may", server.place.host,
            server.place.port);
  }
  server.address = fmt::format("http://{}:{}/", server.place.host, server.place.port);
  server.thread = std::thread([&server] {
    server.http.listen_after_bind();
    server.ended = true;
  });
  // The library's stop() does nothing before it listens: a run that ended at once would wait for
  // this thread for ever.
  while (!server.http.is_running() && !server.ended)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

ViewServer::~ViewServer() {
  server_->stopping = true;
  server_->http.stop();
  if (server_->thread.joinable()) server_->thread.join();
}

const std::string& ViewServer::address() const { return server_->address; }
const std::string& ViewServer::token() const { return server_->token; }

}  // namespace ptyche
