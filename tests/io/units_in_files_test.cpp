// Numbers of files whose unit is said by a column's name, or is not what the format says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ptyche/data/probe.h"
#include "ptyche/storage/arrays.h"
#include "tests/io/scan_files.h"

namespace ptyche {
namespace {

/// A stack of patterns and positions beside it in object pixels of 1 um.
class PlacedBeside : public testing::Test {
 protected:
  PlacedBeside() {
    Arrays arrays = small_arrays();
    Hdf5File file = Hdf5File::create(folder_ / "scan.h5");
    file.write("frames", array(arrays, "diffraction"));
    for (const char* axis : {"x", "y"})
      positions_.push_back(array(arrays, std::string(axis) + "coords") * 1e-6);
    file.write("x_A", positions_[0] * 1e10);
    file.write("y_A", positions_[1] * 1e10);
    options_.file = folder_ / "scan.h5";
    options_.patterns = "/frames";
    options_.energy_ev = 12398.4198433;
    options_.distance_m = 2;
    options_.detector_pixel_m = 25e-6 * 10;  // of 8: an object pixel of .1 um
  }

  std::string table(const std::string& head, double metres, const char* between = ",") {
    std::string text = head + "\n";
    for (std::int64_t i = 0; i < kFrames; ++i)
      text += fmt::format("{:.9g}{}{:.9g}\n", positions_[0][i].item<double>() / metres, between,
                          positions_[1][i].item<double>() / metres);
    write_raw(folder_ / "pos.csv", text);
    return (folder_ / "pos.csv").string();
  }

  /// Of the scan's extent in x, m, as it was read.
  double extent(const std::string& positions) {
    options_.positions = positions;
    const Scan scan = read_scan(options_);
    const at::Tensor x = scan.positions().select(1, 1);
    return (x.max() - x.min()).item<double>() * scan.geometry().object_pixel_m;
  }

  const double right_ = 5e-6;  // 2 steps of 2.5 um
  TestFolder folder_;
  std::vector<at::Tensor> positions_;
  ReadOptions options_;
};

TEST_F(PlacedBeside, ColumnsSayAngstromInEverySpelling) {
  for (const char* unit : {" [A]", "_A", " (A)", "_ang", "_angstrom", "/A", " [\u00c5]",
                           " (\u212b)", " [Angstroms]", "_Angs", " in A", " [\xC5]"}) {
    const std::string head = fmt::format("x{0},y{0}", unit);
    EXPECT_NEAR(extent(table(head, 1e-10)), right_, 1e-12) << head;
  }
}

TEST_F(PlacedBeside, ColumnsSayOtherUnits) {
  const std::vector<std::pair<const char*, double>> units{
      {" [nm]", 1e-9}, {"_um", 1e-6},     {" (\xC2\xB5m)", 1e-6}, {" [micron]", 1e-6},
      {"_mm", 1e-3},   {" [pm]", 1e-12},  {"_NM", 1e-9},          {" [m]", 1},
      {"", 1},         {" [\xB5m]", 1e-6}};
  for (const auto& [unit, metres] : units) {
    const std::string head = fmt::format("x{0},y{0}", unit);
    EXPECT_NEAR(extent(table(head, metres)), right_, 1e-12) << head;
  }
}

TEST_F(PlacedBeside, TheUnitOfAColumnThatIsNamedByItsNumberCountsToo) {
  const std::string file = table("x_A,y_A", 1e-10);
  EXPECT_NEAR(extent(file + ":1," + file + ":2"), right_, 1e-12);
}

TEST_F(PlacedBeside, ALineOfUnitsBelowTheNamesAndUnitsBetweenSpacesCount) {
  EXPECT_NEAR(extent(table("x,y\nnm,nm", 1e-9)), right_, 1e-12);
  EXPECT_NEAR(extent(table("x,y\n[A],[A]", 1e-10)), right_, 1e-12);
  EXPECT_NEAR(extent(table("# x [um]  y [um]", 1e-6, " ")), right_, 1e-12);
}

TEST_F(PlacedBeside, TheUnitThatIsTypedWinsOverTheColumns) {
  const std::string file = table("x_nm,y_nm", 1e-10);
  EXPECT_NEAR(extent(file + ":x_nm*A," + file + ":y_nm*A"), right_, 1e-12);
}

TEST_F(PlacedBeside, AnArraysNameMaySayTheUnitWhereItsAttributesDoNot) {
  EXPECT_NEAR(extent("/x_A,/y_A"), right_, 1e-12);
}

/// A CXI file without units: positions in metres over `unit`.
std::filesystem::path write_foreign(const TestFolder& folder, const at::Tensor& x,
                                    const at::Tensor& y, double unit) {
  Hdf5File file = Hdf5File::create(folder / "foreign.cxi");
  file.write("entry_1/data_1/data", small_counts());
  file.write("entry_1/data_1/translation", at::stack({-x, -y, 0 * x}, 1) / unit);
  const std::string detector = "entry_1/instrument_1/detector_1/";
  file.write(detector + "distance", at::tensor({2.0}, at::kDouble));
  file.write(detector + "x_pixel_size", at::tensor({2.5e-5}, at::kDouble));
  file.write("entry_1/instrument_1/beam_1/energy",
             at::tensor({12398.4198433 * 1.602176634e-19}, at::kDouble));
  return folder / "foreign.cxi";
}

TEST_F(PlacedBeside, NanometresAndAngstromThatNothingTellsApartAreAskedFor) {
  const auto message = [&](double smaller, double unit) {
    return message_of([&] {
      read_scan(
          {.file = write_foreign(folder_, positions_[0] / smaller, positions_[1] / smaller, unit)});
    });
  };
  EXPECT_TRUE(contains(message(1, 1e-9), "X*nm,Y*nm or X*A,Y*A")) << message(1, 1e-9);
  EXPECT_TRUE(contains(message(10, 1e-10), "X*nm,Y*nm or X*A,Y*A")) << message(10, 1e-10);
  EXPECT_EQ(message(1, 1e-6), "") << "micrometres are certain";
}

TEST(OnlyPowerOfTen, IsCertainOnlyWhereNoOtherUnitWouldDo) {
  EXPECT_EQ(only_power_of_ten(0.3e6, 1), -6);
  EXPECT_EQ(only_power_of_ten(0.3e3, 1), -3);
  EXPECT_EQ(only_power_of_ten(0.3e-3, 1), 3);
  EXPECT_EQ(only_power_of_ten(0.3e-6, 1), 6);
  EXPECT_EQ(only_power_of_ten(0.5e10, 1), -10) << "of nanometres no pattern would overlap";
  EXPECT_EQ(only_power_of_ten(0.2e9, 1), 0) << "or Angstrom, of steps of .02";
  EXPECT_EQ(only_power_of_ten(0.06e10, 1), 0) << "or nanometres, of steps of .6";
  EXPECT_EQ(only_power_of_ten(0.3e1, 1), 0) << "ten times is no unit";
  EXPECT_EQ(only_power_of_ten(0.3, 1), 0) << "right as it is";
}

TEST(UnitsToType, NamesThoseThatWouldDo) {
  EXPECT_EQ(units_to_type(0.2e9, 1), "--positions X*nm,Y*nm or X*A,Y*A");
  EXPECT_EQ(units_to_type(0.3e6, 1), "--positions X*um,Y*um");
}

/// A PtyPy file whose numbers are those of `energy_kev`, `distance`, `pixel`.
std::string refusal_of_file(double energy_kev, double distance, double pixel,
                            ReadOptions options = {}) {
  const TestFolder folder;
  Hdf5File file = Hdf5File::create(folder / "scan.ptyd");
  Arrays arrays = small_arrays();
  file.write("chunks/0/data", array(arrays, "diffraction"));
  file.write("chunks/0/positions",
             1e-6 * at::stack({array(arrays, "ycoords"), array(arrays, "xcoords")}, 1));
  const auto put = [&](const char* name, double value) {
    file.write(name, at::tensor({value}, at::kDouble));
  };
  put("meta/energy", energy_kev);
  put("meta/distance", distance);
  put("meta/psize", pixel);
  file.close();
  options.file = folder / "scan.ptyd";
  return message_of([&] { read_scan(options); });
}

TEST(NumbersOfFiles, ThatNoInstrumentHasAreAskedForWithTheOptionThatSaysThem) {
  EXPECT_EQ(refusal_of_file(8.8, 2, 75e-6), "");
  EXPECT_EQ(refusal_of_file(0.00196, 0.05, 5e-6), "") << "visible light";
  EXPECT_EQ(refusal_of_file(0.092, 0.03, 15e-6), "") << "extreme ultraviolet";
  EXPECT_TRUE(contains(refusal_of_file(8800, 2, 75e-6), "--energy"));
  EXPECT_TRUE(contains(refusal_of_file(0.0088, 2, 75e-6), "--energy 8.8keV"));
  EXPECT_TRUE(contains(refusal_of_file(8.8, 2100, 75e-6), "2100mm"));
  EXPECT_TRUE(contains(refusal_of_file(8.8, 2, 75), "75um"));
  for (const double kilovolts : {60.0, 80.0, 200.0, 300.0}) {
    const std::string message = refusal_of_file(kilovolts, 2, 75e-6);
    EXPECT_TRUE(contains(message, fmt::format("--voltage {:g}kV", kilovolts))) << message;
    ReadOptions xrays;
    xrays.energy_ev = 1e3 * kilovolts;
    EXPECT_EQ(refusal_of_file(kilovolts, 2, 75e-6, xrays), "") << kilovolts;
  }
}

TEST(NumbersOfFiles, BothAnEnergyAndAVoltageAreRefused) {
  ReadOptions both;
  both.energy_ev = 8e4;
  both.voltage_v = 8e4;
  EXPECT_TRUE(contains(refusal_of_file(8.8, 2, 75e-6, both), "expected one of them"));
}

}  // namespace
}  // namespace ptyche
