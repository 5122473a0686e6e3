// The page on which a run is looked at: one static page and what it asks for, over HTTP.
#pragma once

#include <memory>
#include <string>

#include "ptyche/core/field.h"
#include "ptyche/live/board.h"

namespace ptyche {

struct ViewOptions {
  std::string view;   ///< PORT or ADDRESS:PORT; empty = no page; port 0 = any free one
  std::string token;  ///< for stop, keep and pause; empty = a new one
};
std::vector<Field> fields(ViewOptions& options);

/// Serves while it lives. Loopback unless another address is asked for. Reading is free to whoever
/// can connect; what changes the run takes the token. Requests whose Host is not the server's, or
/// that a page of another site has made, are refused. Sizes, times and connections are bounded; no
/// request names a file.
///   GET  /                 the page
///   GET  /api/state        LiveBoard::status_json
///   GET  /api/curves       LiveBoard::curves_json
///   GET  /api/events       the state, again after changes, twice a second at most (server-sent
///   events) GET  /api/positions    float32 row, col, row, col, ... GET  /api/pattern      float32
///   counts (X-Rows, X-Cols, X-Index) GET
///   /api/tile?image=NAME&what=phase|amplitude|coverage|trust&level&row&col&ramp&beside=NAME
///                          NAME: shown, network, solver or other; float32, kViewTile pixels square
///                          at most, of the image halved `level` times (X-Rows, X-Cols)
///   POST /api/stop, /api/keep, /api/pause   with the header X-Ptyche-Token
class ViewServer {
 public:
  /// Throws InvalidInput where the address cannot be listened to.
  ViewServer(LiveBoard& board, const ViewOptions& options);
  ~ViewServer();
  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;

  /// http://127.0.0.1:8642/
  const std::string& address() const;
  const std::string& token() const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

/// The page (ptyche/live/page.html).
std::string view_page();

}  // namespace ptyche
