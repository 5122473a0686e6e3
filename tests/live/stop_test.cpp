// When a run may end early, and how a control system hears of it.
#include <gtest/gtest.h>
#include <httplib.h>

#include <nlohmann/json.hpp>
#include <zmq.hpp>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/live/stop_notice.h"
#include "ptyche/live/stop_rule.h"

namespace ptyche {
namespace {

TEST(StopRule, IsReachedByItsOwnCurveAlone) {
  const LivePoint point{
      .joined = 50, .network_deviance = 0.3, .solver_deviance = 0.04, .half_set_frc = 0.2};
  EXPECT_EQ(reached(stop_rule("frc=0.2"), {point}), "frc=0.2");
  EXPECT_EQ(reached(stop_rule("frc=0.21"), {point}), "");
  EXPECT_EQ(reached(stop_rule("deviance=0.05"), {point}), "deviance=0.05") << "the better image";
  EXPECT_EQ(reached(stop_rule("deviance=0.03"), {point}), "");
  EXPECT_EQ(reached(stop_rule(""), {point}), "");
  EXPECT_EQ(reached(stop_rule("frc=0.1"), {{}}), "") << "what is not known reaches nothing";
  EXPECT_EQ(reached(stop_rule("deviance=1"), {}), "");
}

TEST(StopRule, IsAPlateauWhereAFifthMoreFramesGainNothing) {
  const auto curve = [](double before, double now) {
    return std::vector<LivePoint>{{.joined = 800, .network_deviance = before},
                                  {.joined = 1000, .network_deviance = now}};
  };
  EXPECT_EQ(reached(stop_rule("plateau"), curve(0.05, 0.0495)), "plateau");
  EXPECT_EQ(reached(stop_rule("plateau"), curve(0.05, 0.0485)), "");
  EXPECT_EQ(reached(stop_rule("plateau"), {{.joined = 1000, .network_deviance = 0.05}}), "");
}

TEST(StopRule, RefusesOtherWords) {
  for (const char* text : {"frc", "frc=", "frc=a", "frc=0", "deviance=-1", "time=3", "plateau=1"})
    EXPECT_THROW(stop_rule(text), InvalidInput) << text;
}

TEST(StopNotice, GoesToHttpAddressesAndPullSocketsAlone) {
  const NoticePlace web = notice_place("http://127.0.0.1:8080/a/b?c=d");
  EXPECT_EQ(web.port, 8080);
  EXPECT_EQ(web.path, "/a/b?c=d");
  EXPECT_EQ(notice_place("http://127.0.0.1").port, 80);
  EXPECT_EQ(notice_place("http://127.0.0.1?x").path, "/?x");
  EXPECT_EQ(notice_place("http://[::1]:99/").address, "::1");
  EXPECT_EQ(notice_place("http://localhost:99").address, "127.0.0.1");
  EXPECT_EQ(notice_place("zmq+push://127.0.0.1:5555").kind, NoticePlace::Kind::zmq_push);
  for (const char* url :
       {"", "127.0.0.1:80", "https://127.0.0.1/", "zmq+push://127.0.0.1", "zmq+pub://127.0.0.1:1",
        "http://", "http://:80", "http://127.0.0.1:0", "http://127.0.0.1:70000",
        "http://127.0.0.1:8x", "http://me:secret@127.0.0.1:80/", "http://no-such-host.invalid/"})
    EXPECT_THROW(notice_place(url), InvalidInput) << url;
}

TEST(StopNotice, IsJsonInWhichUnknownScoresAreNull) {
  const auto json = nlohmann::json::parse(
      to_json({.why = "plateau", .index = 7, .frames = 8, .expected = 9, .solver_deviance = 0.5},
              "out/now", "2026-01-02T03:04:05Z"));
  EXPECT_EQ(json["htype"], "ptyche-stop-1.0");
  EXPECT_EQ(json["why"], "plateau");
  EXPECT_EQ(json["index"], 7);
  EXPECT_EQ(json["scores"]["solver_deviance"], 0.5);
  EXPECT_TRUE(json["scores"]["half_set_frc"].is_null());
  EXPECT_EQ(json["folder"], "out/now");
  EXPECT_EQ(json["time"], "2026-01-02T03:04:05Z");
}

/// What a notifier has come to, and how long one waited for it.
std::pair<NoticeOutcome, double> told(const std::string& url) {
  const Stopwatch watch;
  StopNotifier notifier(notice_place(url), "out");
  notifier.tell({.why = "plateau"});
  EXPECT_LT(watch.seconds(), 1) << "nobody waits for it";
  while (!notifier.outcome().told && notifier.outcome().failures == 0 && watch.seconds() < 10)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const NoticeOutcome outcome = notifier.finish();
  return {outcome, watch.seconds()};
}

TEST(StopNotice, IsPostedAndTheAnswerSaysWhetherItWasTaken) {
  httplib::Server server;
  std::string body, type;
  server.Post("/stop", [&](const httplib::Request& request, httplib::Response&) {
    body = request.body, type = request.get_header_value("Content-Type");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread listening([&] { server.listen_after_bind(); });
  const std::string base = "http://127.0.0.1:" + std::to_string(port);
  EXPECT_TRUE(told(base + "/stop").first.told);
  EXPECT_EQ(nlohmann::json::parse(body)["why"], "plateau");
  EXPECT_EQ(type, "application/json");
  const NoticeOutcome refused = told(base + "/elsewhere").first;
  EXPECT_FALSE(refused.told);
  EXPECT_EQ(refused.fault, "it answered with status 404");
  server.stop();
  listening.join();
  EXPECT_FALSE(told(base + "/stop").first.told) << "nobody listens any more";
}

TEST(StopNotice, ReachesAPullSocketAndKnowsWhereThereIsNone) {
  zmq::context_t context(1);
  zmq::socket_t socket(context, zmq::socket_type::pull);
  socket.set(zmq::sockopt::rcvtimeo, 5000);
  socket.bind("tcp://127.0.0.1:*");
  const std::string address = socket.get(zmq::sockopt::last_endpoint);
  const std::string url = "zmq+push://" + address.substr(6);
  EXPECT_TRUE(told(url).first.told);
  zmq::message_t message;
  ASSERT_TRUE(socket.recv(message));
  EXPECT_EQ(nlohmann::json::parse(message.to_string_view())["htype"], "ptyche-stop-1.0");
  socket.close();
  context.close();  // closing a socket only asks for it: this waits until nobody listens
  const auto [outcome, seconds] = told(url);
  EXPECT_FALSE(outcome.told);
  EXPECT_EQ(outcome.failures, 1);
  EXPECT_LT(seconds, 6);
}

TEST(StopNotice, IsTriedOnceAlsoWhereTheRunEndsAtOnce) {
  StopNotifier notifier(notice_place("http://127.0.0.1:1/"), "out");
  notifier.tell({.why = "plateau"});
  EXPECT_EQ(notifier.finish().failures, 1);
}

TEST(StopNotice, DoesNotWaitForWhoNeverAnswers) {
  const int silent = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(bind(silent, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(silent, 5), 0);  // connections are made, and nothing is read from them
  getsockname(silent, reinterpret_cast<sockaddr*>(&address), &length);
  const auto [outcome, seconds] =
      told("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  close(silent);
  EXPECT_FALSE(outcome.told);
  EXPECT_GE(outcome.failures, 1);
  EXPECT_LT(seconds, 6);
}

}  // namespace
}  // namespace ptyche
