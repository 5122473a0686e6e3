#include "ptyche/report/html.h"

#include <gtest/gtest.h>

#include "ptyche/core/error.h"
#include "ptyche/report/score_tables.h"

namespace ptyche {
namespace {

TEST(EscapeHtml, LeavesNoMarkupAndKeepsForeignLetters) {
  EXPECT_EQ(escape_html("<a href=\"x\">'&é試"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;é試");
}

TEST(EscapeHtml, ReplacesWhatIsNotUtf8) {
  const std::string lost = "\ufffd";
  EXPECT_EQ(escape_html("caf\xe9.npz"), "caf" + lost + ".npz");
  EXPECT_EQ(escape_html("a\xe8\xa9"), "a" + lost + lost);
  EXPECT_EQ(escape_html("\xc0\xbc"), lost + lost);             // an overlong '<'
  EXPECT_EQ(escape_html("\xed\xa0\x80"), lost + lost + lost);  // a surrogate
  EXPECT_EQ(escape_html(std::string("a\0b\x1b", 4)), "a" + lost + "b" + lost);
}

TEST(Base64, GivesTheVectorsOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : vectors) EXPECT_EQ(base64(plain), coded);
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(FlattenedOptions, NameNestedOptionsWithDotsInTheirOrder) {
  const auto rows = flattened_options(
      R"({"train": {"rate": 0.001, "fixed": false}, "crop": [64, 64], "mask": null, "a": "b"})");
  const std::vector<TableRow> expected = {{"train.rate", "0.001"},
                                          {"train.fixed", "no"},
                                          {"crop", "[64,64]"},
                                          {"mask", "not set"},
                                          {"a", "b"}};
  EXPECT_EQ(rows, expected);
}

TEST(FlattenedOptions, RefuseWhatIsNotAnObject) {
  for (const char* json : {"", "[1]", "{\"a\":", "12"})
    EXPECT_THROW(flattened_options(json), InvalidInput) << json;
}

TEST(ScoreTables, GroupScoresByNameInTheOrderGiven) {
  const std::string html = score_tables({{"held_out.r_factor", 0.0865349, "a <ratio>"},
                                         {"new_kind.value", 12, "px"},
                                         {"held_out.frames", 52, "number"}});
  const auto held_out = html.find("Held-out patterns"), other = html.find("new kind");
  ASSERT_NE(held_out, std::string::npos);
  ASSERT_NE(other, std::string::npos);
  EXPECT_LT(html.find("held_out.frames"), other);
  EXPECT_NE(html.find("<td>0.08653</td>"), std::string::npos);
  EXPECT_NE(html.find("a &lt;ratio&gt;"), std::string::npos);
  EXPECT_EQ(score_tables({}), "");
}

}  // namespace
}  // namespace ptyche
