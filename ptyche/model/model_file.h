// model.ptyche: an HDF5 file that holds a Model, and refuses what it does not know.
#pragma once

#include <filesystem>

#include "ptyche/io/hdf5.h"
#include "ptyche/model/model.h"

namespace ptyche {

/// Writes the model atomically. The same model gives the same bytes: no times, no paths.
void write_model(const std::filesystem::path& file, const Model& model);

/// model.ptyche and history.csv, one line per epoch, into a folder.
void write_training(const std::filesystem::path& folder, const Model& model);

/// Throws InvalidInput if the file is not a model, of another format version, or incomplete.
Model read_model(const std::filesystem::path& file);

/// The same into and from an open file, beside other things (a checkpoint's training state).
void write_model_to(Hdf5File& file, const Model& model);
Model read_model_from(const Hdf5File& file);

}  // namespace ptyche
