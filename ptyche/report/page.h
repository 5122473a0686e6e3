// The report as one self-contained HTML page.
#pragma once

#include <string>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scores.h"
#include "ptyche/report/html.h"

namespace ptyche {

/// Pictures that stand side by side under one heading.
struct PictureRow {
  std::string title, text;  ///< the text stands above the pictures; both may be empty
  std::vector<Picture> pictures;
};

/// A whole page that loads nothing: `headline` stands below the title, `body` is HTML.
std::string html_page(const std::string& title, const std::string& headline,
                      const std::string& body);

/// A heading and what stands under it; empty where there is no content (HTML).
std::string section_html(const std::string& title, const std::string& content);

/// The row's text and pictures under its title; empty where there is no picture.
std::string pictures_html(const PictureRow& row);

/// How well the image predicts patterns, in one plain sentence with its floor and what no knowledge
/// at all would give; says so where nothing was held out.
std::string headline(const Scores& scores);

/// Everything on one page that loads nothing: pictures (the first row is the image itself),
/// headline, scores with their meaning, loss curve, options, provenance. A part that is missing is
/// left out.
std::string report_page(const Reconstruction& image, const Scores& scores,
                        const std::vector<PictureRow>& pictures);

}  // namespace ptyche
