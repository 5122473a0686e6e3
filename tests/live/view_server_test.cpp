// The page's server: what it gives, and whom it refuses.
#include "ptyche/live/view_server.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <cmath>
#include <cstring>

#include "ptyche/core/progress.h"
#include "tests/support/checks.h"

namespace ptyche {
namespace {

class ViewServerTest : public testing::Test {
 protected:
  ViewServerTest() {
    LiveImage image{.by = "network", .frames = 3};
    image.image.object = at::polar(at::full({1, 300, 280}, 2.0f), at::rand({1, 300, 280}));
    image.image.coverage = at::ones({300, 280});
    object = image.image.projection();
    board.publish(std::make_shared<const LiveImage>(std::move(image)), false);
  }
  int port() const {
    const std::string& address = server.address();
    return std::stoi(address.substr(address.rfind(':') + 1));
  }
  httplib::Client client() const { return httplib::Client("127.0.0.1", port()); }

  LiveBoard board;
  at::Tensor object;
  ViewServer server{board, {.view = "0", .token = "secret"}};
};

at::Tensor floats(const std::string& bytes, std::int64_t rows, std::int64_t cols) {
  at::Tensor values = at::empty({rows, cols});
  EXPECT_EQ(bytes.size(), values.nbytes());
  std::memcpy(values.data_ptr(), bytes.data(),
              std::min<std::size_t>(bytes.size(), values.nbytes()));
  return values;
}

TEST_F(ViewServerTest, GivesTheImagesOwnValuesInTiles) {
  const auto tile = client().Get("/api/tile?image=shown&what=phase&level=0&row=1&col=1");
  ASSERT_TRUE(tile);
  ASSERT_EQ(tile->status, 200);
  EXPECT_TRUE(at::equal(floats(tile->body, 44, 24), object.slice(0, 256).slice(1, 256).angle()));
  const auto half = client().Get("/api/tile?image=shown&what=amplitude&level=1&row=0&col=0");
  const at::Tensor mean = (object.slice(0, 0, 2).slice(1, 0, 2)).mean().abs();
  EXPECT_NEAR(floats(half->body, 150, 140)[0][0].item<double>(), mean.item<double>(), 1e-5);
}

TEST_F(ViewServerTest, GivesTrustOnlyOfAnImageThatHasIt) {
  const char* const query = "/api/tile?image=shown&what=trust&level=1&row=0&col=0";
  EXPECT_EQ(client().Get(query)->status, 404);
  EXPECT_NE(board.status_json().find("\"trust\":false"), std::string::npos);
  LiveImage judged = *board.shown();
  judged.trust = at::full({300, 280}, 0.25f);
  judged.trust[1][3] = std::nanf("");
  board.publish(std::make_shared<const LiveImage>(std::move(judged)), false);
  const at::Tensor half = floats(client().Get(query)->body, 150, 140);
  EXPECT_EQ(half[3][4].item<float>(), 0.25f);
  EXPECT_TRUE(std::isnan(half[0][1].item<float>())) << "of which a part is not known";
}

TEST_F(ViewServerTest, TakesOrdersOnlyWithTheToken) {
  auto http = client();
  EXPECT_EQ(http.Post("/api/stop")->status, 403);
  EXPECT_EQ(http.Post("/api/stop", {{"X-Ptyche-Token", "secreT"}}, "", "text/plain")->status, 403);
  EXPECT_FALSE(board.stop);
  EXPECT_EQ(http.Get("/api/stop")->status, 404) << "a link cannot stop a run";
  EXPECT_EQ(http.Post("/api/stop", {{"X-Ptyche-Token", "secret"}}, "", "text/plain")->status, 200);
  EXPECT_TRUE(board.stop);
}

TEST_F(ViewServerTest, RefusesPagesOfOtherSitesAndNamesThatWereMadeToPointHere) {
  auto http = client();
  EXPECT_EQ(http.Get("/api/state", {{"Origin", "http://evil.example"}})->status, 403);
  EXPECT_EQ(http.Get("/api/state", {{"Sec-Fetch-Site", "cross-site"}})->status, 403);
  EXPECT_EQ(http.Get("/api/state", {{"Host", "evil.example"}})->status, 403);
  EXPECT_EQ(http.Get("/api/state", {{"Host", "localhost:" + std::to_string(port())}})->status, 200);
}

TEST_F(ViewServerTest, GivesNoFileAndSurvivesBadRequests) {
  auto http = client();
  for (const char* path : {"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd",
                           "//etc/passwd", "/api/../../etc/passwd"}) {
    const auto answer = http.Get(path);
    EXPECT_TRUE(!answer || answer->body.find("root:") == std::string::npos) << path;
  }
  for (const char* query :
       {"level=-1&row=0&col=0", "level=99&row=0&col=0", "level=0&row=9999999&col=0",
        "level=0&row=1e3&col=0", "level=0&row=0", "level=a&row=b&col=c"})
    EXPECT_NE(http.Get((std::string("/api/tile?what=phase&") + query).c_str())->status, 200)
        << query;
  EXPECT_EQ(http.Get("/api/tile?what=secret&level=0&row=0&col=0")->status, 400);
  const auto large = http.Post("/api/keep", {{"X-Ptyche-Token", "secret"}},
                               std::string(1 << 20, 'x'), "text/plain");
  EXPECT_TRUE(!large || large->status == 413);
  EXPECT_EQ(http.Get("/")->status, 200);
}

TEST_F(ViewServerTest, GivesTheNewestPattern) {
  EXPECT_EQ(client().Get("/api/pattern")->status, 404);
  for (int index = 3; index < 5; ++index) {
    const at::Tensor counts = at::full({8, 6}, index, at::kShort);
    board.publish_pattern(counts, index);
    const auto answer = client().Get("/api/pattern");
    EXPECT_EQ(answer->get_header_value("X-Index"), std::to_string(index));
    EXPECT_TRUE(at::equal(floats(answer->body, 8, 6), counts.to(at::kFloat)));
  }
}

TEST_F(ViewServerTest, TellsOfManyChangesTwiceASecondAtMost) {
  const Stopwatch watch;
  std::string last;
  int events = 0;
  auto http = client();
  http.Get("/api/events", [&](const char* data, std::size_t length) {
    last.assign(data, length);
    ++events;
    for (int i = 0; i < 20; ++i) board.publish(LiveStatus{.expected = 100 * events + i});
    return watch.seconds() < 1.5;
  });
  EXPECT_LE(events, 6);
  EXPECT_NE(last.find("\"expected\":" + std::to_string(100 * (events - 1) + 19)), std::string::npos)
      << "the newest state is the one that is told";
}

TEST_F(ViewServerTest, SendsAChangeToWhoListens) {
  int states = 0;
  auto http = client();
  http.Get("/api/events", [&](const char* data, std::size_t length) {
    states += std::string(data, length).find("\"state\"") != std::string::npos;
    board.publish(LiveStatus{.state = "running"});
    return states < 3;
  });
  EXPECT_EQ(states, 3);
}

TEST_F(ViewServerTest, ListensOnLoopbackAlone) {
  EXPECT_TRUE(server.address().starts_with("http://127.0.0.1:"));
}

TEST(ViewServer, EndsAlsoWhereItEndsAtOnce) {
  LiveBoard board;
  for (int i = 0; i < 30; ++i) const ViewServer server(board, {.view = "0", .token = "secret"});
}

TEST(ViewPage, AsksNoOtherHost) {
  const std::string page = view_page();
  EXPECT_GT(page.size(), 10'000u);
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
}

}  // namespace
}  // namespace ptyche
