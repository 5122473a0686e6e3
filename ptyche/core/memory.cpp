#include "ptyche/core/memory.h"

#include <c10/core/CPUAllocator.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/ranks.h"
#include "ptyche/core/system_memory.h"

namespace ptyche {
namespace fs = std::filesystem;
// Texts.

double bytes_of(const std::string& text) {
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  if (unit.size() > 1 && unit.back() == 'B') unit.pop_back();
  static constexpr std::array<std::pair<const char*, double>, 6> kUnits{
      {{"", 1}, {"B", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}};
  for (const auto& [name, factor] : kUnits)
    if (fault == std::errc() && unit == name && number >= 0 && std::isfinite(number))
      return number * factor;
  throw InvalidInput(fmt::format("expected bytes like 8G or 500M, found '{}'", text));
}

std::string bytes_text(double bytes) {
  return bytes >= 1e9 ? fmt::format("{:.1f} GB", bytes / 1e9)
                      : fmt::format("{:.0f} MB", bytes / 1e6);
}

std::vector<Field> fields(MemoryOptions& options) {
  const TextTarget bytes{
      .get =
          [&options] {
            return options.bytes == 0 ? std::string("auto") : fmt::format("{:g}", options.bytes);
          },
      .set =
          [&options](const std::string& text) {
            options.bytes = text == "auto" ? 0 : bytes_of(text);
            require(options.bytes == 0 || options.bytes >= kLeastMemory,
                    "expected at least {}, found '{}'", bytes_text(kLeastMemory), text);
          }};
  return {
      {.name = "memory",
       .target = bytes,
       .help = "most memory to use, like 8G; auto = 80 % of what is free. Arrays that do not "
               "fit lie in nameless files in --scratch",
       .affects_result = false},
      {.name = "scratch",
       .target = &options.scratch,
       .help = "folder for arrays that do not fit into --memory; default $TMPDIR, else /var/tmp",
       .affects_result = false}};
}

// Arrays in files.

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kLarge = std::size_t{1} << 20;  // smaller arrays are the C library's
// Smaller ones never go to disk: what solvers compute on at a time comes and goes too often.
constexpr std::size_t kSpilled = std::size_t{20} << 20;
constexpr std::size_t kGrain = std::size_t{256} << 10;  // sizes are multiples of this
constexpr double kMostKept = 64e6;                      // of freed memory, by the C library
constexpr double kPoolShare = 1.0 / 16;  // of the limit, that freed arrays may keep for the next
constexpr double kMostPool = 1e9;
// So much beyond the most in use may be kept until it is stale; more where little is in use: what a
// network asks for in each step, of many sizes (a fifth of the time of inference went into new
// pages). Training on the star (350 MB) and on 3300 patterns (900 MB) takes the time that it took
// with a sixteenth of what is in use.
constexpr double kBeyond = 8e6, kBeyondLittle = 96e6, kLittle = 400e6;
constexpr std::int64_t kStale = 300;  // arrays asked for since one was freed
constexpr auto kLongUnused = std::chrono::milliseconds(300);
constexpr double kTooLarge = 1.25;  // a kept array serves requests down to its size over this
// Of the limit, that freed arrays in files may keep: a new file costs a millisecond for each
// megabyte that is written to it (the comparison with a truth at an eighth of the memory, 600 MB:
// half of its time).
constexpr double kFilesShare = 0.25;
constexpr double kLeftOver = 0.75;  // of what is left, the most that one array may take
constexpr auto kWindow = std::chrono::seconds(1);
constexpr auto kBetweenTrims = std::chrono::seconds(1);
constexpr auto kBetweenLooks = std::chrono::milliseconds(5);

/// A large array: in a file where `file` is one, else in memory.
struct Block {
  std::size_t bytes = 0;
  int file = -1;
  bool scattered = false;  ///< what is read of it lies in no order
  bool reusable = false;   ///< the file lies in the scratch folder and serves the next array
};

/// An array in memory that nobody has any more.
struct FreedArray {
  std::size_t bytes = 0;
  void* data = nullptr;
  std::int64_t when = 0;  ///< by the count of Freed
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

/// An array in a file that nobody has any more.
struct FreedFile {
  Block block;
  void* data = nullptr;
};

/// Those that are kept for the next of their size.
struct Freed {
  std::deque<FreedFile> files;                        ///< the oldest first
  std::deque<FreedArray> arrays;                      ///< the oldest first
  double bytes = 0;                                   ///< of `arrays`
  double most_used = 0;                               ///< of arrays in use at once, in this kWindow
  double most_before = 0;                             ///< in the one before
  std::chrono::steady_clock::time_point window = {};  ///< when this one began
  std::int64_t count = 0;                             ///< how many arrays have been asked for
};

/// The one decision of a process about its memory: like LibTorch's allocator, which it feeds, it
/// lives as long as the process.
struct Memory {
  std::atomic<double> limit = kInfinite;
  std::atomic<double> used = 0;  ///< by large arrays in memory
  std::mutex guards;             ///< what follows
  fs::path scratch;
  std::unordered_map<void*, Block> blocks;  ///< large arrays, by where they begin
  Freed freed;
  std::atomic<bool> told = false, watched = false;
  std::atomic<bool> forked = false;  ///< a child, whose files are its parent's, too
  at::Allocator* usual = c10::GetDefaultCPUAllocator();  ///< of small arrays
};

Memory& memory() {
  static auto* const one = new Memory;  // never destroyed: arrays of static objects may outlive it
  return *one;
}

void unmap(std::deque<FreedArray>::iterator kept) {
  memory().freed.bytes -= static_cast<double>(kept->bytes);
  munmap(kept->data, kept->bytes);
  memory().freed.arrays.erase(kept);
}

bool is_stale(const FreedArray& array) {
  return memory().freed.count - array.when > kStale ||
         std::chrono::steady_clock::now() - array.since > kLongUnused;
}

/// The most that was in use lately. The guards are held.
double most_used_lately() {
  Freed& freed = memory().freed;
  const auto now = std::chrono::steady_clock::now();
  if (now - freed.window > kWindow) {
    freed.most_before = std::exchange(freed.most_used, 0.0);
    freed.window = now;
  }
  freed.most_used = std::max<double>(freed.most_used, memory().used);
  return std::max(freed.most_used, freed.most_before);
}

/// Gives back, where the process would else have more than it lately had in use: what nobody has
/// asked for in a long time, and of the rest what is somewhat more. Besides the newest of what is
/// too much at all: in a loop whose arrays do not all fit, some would else never be kept until
/// their turn comes. The guards are held.
void shrink_pool() {
  auto& pool = memory().freed.arrays;
  const double& pooled = memory().freed.bytes;
  const double used = memory().used, most = std::min(kMostPool, kPoolShare * memory().limit);
  const double most_used = most_used_lately();
  const double in_all = most_used + (most_used < kLittle ? kBeyondLittle : kBeyond);
  while (!pool.empty() && used + pooled > most_used &&
         (is_stale(pool.front()) || used + pooled > in_all))
    unmap(pool.begin());
  while (!pool.empty() && pooled > most) unmap(std::prev(pool.end()));
}

/// Small arrays leave holes in the C library's memory, which it keeps.
void give_back_holes() {
  static std::atomic<std::chrono::steady_clock::time_point> last{};
  const auto now = std::chrono::steady_clock::now();
  auto before = last.load();
  if (now - before > kBetweenTrims && last.compare_exchange_strong(before, now)) malloc_trim(0);
}

/// What training frees it asks for again in the next step, and new pages cost more than what is
/// done with them. (The C library of Debian 12 does not find the hole of an aligned array again and
/// takes new memory each time.)
void keep_or_unmap(void* data, std::size_t bytes) {
  const std::lock_guard lock(memory().guards);
  memory().freed.arrays.push_back({bytes, data, memory().freed.count});
  memory().freed.bytes += static_cast<double>(bytes);
  shrink_pool();
}

/// The least kept array of about that size, whose real size comes back in `bytes`, or nullptr.
void* kept_array(std::size_t& bytes) {
  const std::lock_guard lock(memory().guards);
  auto& pool = memory().freed.arrays;
  ++memory().freed.count;
  const auto most = static_cast<std::size_t>(kTooLarge * static_cast<double>(bytes));
  auto best = pool.end();
  for (auto it = pool.begin(); it != pool.end(); ++it)
    if (it->bytes >= bytes && it->bytes <= most && (best == pool.end() || it->bytes < best->bytes))
      best = it;
  if (best == pool.end()) return nullptr;
  void* const data = best->data;
  bytes = best->bytes;
  memory().freed.bytes -= static_cast<double>(bytes);
  pool.erase(best);
  return data;
}

/// All that is kept, given back: it is of the wrong sizes.
void empty_pool() {
  const std::lock_guard lock(memory().guards);
  while (!memory().freed.arrays.empty()) unmap(memory().freed.arrays.begin());
}

void unmap_file(void* data, const Block& block) {
  munmap(data, block.bytes);
  close(block.file);
}

/// The guards are held.
double bytes_of_files() {
  double bytes = 0;
  for (const FreedFile& file : memory().freed.files) bytes += static_cast<double>(file.block.bytes);
  return bytes;
}

/// The oldest first. The guards are held.
void drop_files_beyond(double most) {
  for (auto& files = memory().freed.files; bytes_of_files() > most; files.pop_front())
    unmap_file(files.front().data, files.front().block);
}

void keep_or_close(void* data, const Block& block) {
  const std::lock_guard lock(memory().guards);
  if (!block.reusable || memory().forked) return unmap_file(data, block);
  memory().freed.files.push_back({block, data});
  drop_files_beyond(std::min(kMostPool, kFilesShare * memory().limit));
}

void drop_files() {
  const std::lock_guard lock(memory().guards);
  drop_files_beyond(0);
}

/// A kept array in a file of about that size, or nullptr.
void* kept_file(std::size_t bytes) {
  const std::lock_guard lock(memory().guards);
  auto& files = memory().freed.files;
  const auto most = static_cast<std::size_t>(kTooLarge * static_cast<double>(bytes));
  const auto found = std::ranges::find_if(files, [&](const FreedFile& file) {
    return file.block.bytes >= bytes && file.block.bytes <= most;
  });
  if (found == files.end()) return nullptr;
  const FreedFile kept = *found;
  files.erase(found);
  if (kept.block.scattered) madvise(kept.data, kept.block.bytes, MADV_NORMAL);
  memory().blocks[kept.data] = {kept.block.bytes, kept.block.file, false, true};
  return kept.data;
}

/// The block that begins there, which is forgotten; one of no bytes where there is none.
Block taken_block(void* data) {
  const std::lock_guard lock(memory().guards);
  const auto found = memory().blocks.find(data);
  if (found == memory().blocks.end()) return {};
  const Block block = found->second;
  memory().blocks.erase(found);
  return block;
}

/// Of arrays of any size: LibTorch's convolutions ask for memory without its size.
void release(void* data) {
  const Block block = taken_block(data);
  if (block.bytes == 0) return memory().usual->raw_deleter()(data);
  if (block.file < 0) {
    memory().used -= static_cast<double>(block.bytes);
    keep_or_unmap(data, block.bytes);
  } else {
    keep_or_close(data, block);
  }
}

void* remembered(void* data, const Block& block) {
  const std::lock_guard lock(memory().guards);
  memory().blocks[data] = block;
  return data;
}

at::DataPtr pointer_to(void* data) { return {data, data, &release, at::kCPU}; }

void* array_in_memory(std::size_t wanted) {
  std::size_t bytes = (wanted + kGrain - 1) / kGrain * kGrain;
  void* data = kept_array(bytes);
  for (int attempt = 0; !data && attempt < 2; ++attempt) {
    if (attempt > 0) empty_pool();
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) data = nullptr;
  }
  if (!data) throw std::bad_alloc();
  give_back_holes();
  memory().used += static_cast<double>(bytes);
  const std::lock_guard lock(memory().guards);
  shrink_pool();
  memory().blocks[data] = {bytes, -1};
  return data;
}

/// A file of zeros that has no name any more.
int nameless_file(const fs::path& folder, std::size_t bytes) {
  std::string name = (folder / "ptyche-XXXXXX").string();
  const int file = mkstemp(name.data());
  require(file >= 0, "{}: cannot make a file for arrays that do not fit into memory: {}",
          folder.string(), std::strerror(errno));
  unlink(name.c_str());
  // Now, and not when a page is written to: a full disk would end the program there.
  int fault = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (fault == ENOSPC) {
    drop_files();
    fault = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  }
  if (fault == 0) return file;
  close(file);
  throw InvalidInput(fmt::format("{}: no room for {} that do not fit into memory: {}",
                                 folder.string(), bytes_text(static_cast<double>(bytes)),
                                 std::strerror(fault)));
}

/// What was changed stays in the page cache until it is written.
void give_back(const Block& block, void* data) {
  sync_file_range(block.file, 0, 0, SYNC_FILE_RANGE_WRITE);
  madvise(data, block.bytes, MADV_DONTNEED);
}

/// Gives back what is resident of the arrays in files until all is within the limit: those that
/// nobody has any more, then the largest first, counts, which nobody changes.
void give_back_pages() {
  const std::lock_guard lock(memory().guards);
  drop_files_beyond(0);
  std::vector<std::pair<std::size_t, void*>> in_files;
  for (const auto& [data, block] : memory().blocks)
    if (block.file >= 0) in_files.emplace_back(block.bytes, data);
  std::ranges::sort(in_files, std::greater<>());
  for (const auto& [bytes, data] : in_files) {
    if (resident_bytes() <= memory().limit) return;
    give_back({bytes, memory().blocks[data].file}, data);
  }
}

void keep_within_limit() {
  if (resident_bytes() > memory().limit) give_back_pages();
}

[[noreturn]] void watch_pages() {
  for (;;) {
    std::this_thread::sleep_for(kBetweenLooks);
    keep_within_limit();
  }
}

void* mapped_file(const fs::path& folder, std::size_t bytes, bool reusable) {
  const int file = nameless_file(folder, bytes);
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) {
    close(file);
    throw InvalidInput(fmt::format("{} of {}: cannot be mapped into memory: {}",
                                   bytes_text(static_cast<double>(bytes)), folder.string(),
                                   std::strerror(errno)));
  }
  remembered(data, {bytes, file, /*scattered=*/false, reusable});
  if (!memory().watched.exchange(true)) std::thread(watch_pages).detach();
  return data;
}

double room_left() { return memory().limit - kProgramBytes - memory().used; }

/// Large arrays where use_memory's plan has them, small ones from LibTorch's own allocator.
struct PlannedAllocator final : at::Allocator {
  at::DataPtr allocate(std::size_t bytes) override {
    if (bytes < kLarge) return memory().usual->allocate(bytes);
    const auto wanted = static_cast<double>(bytes);
    const bool too_much = bytes >= kSpilled && wanted > kLeftOver * room_left();
    return pointer_to(too_much ? array_in_scratch(bytes) : array_in_memory(bytes));
  }

  static void* array_in_scratch(std::size_t bytes) {
    const fs::path folder = scratch_folder();
    const auto wanted = static_cast<double>(bytes);
    require(!folder.empty(),
            "an array of {} does not fit into {} of memory (--memory), and no folder for it can be "
            "written to (--scratch)",
            bytes_text(wanted), bytes_text(memory().limit));
    void* kept = kept_file(bytes);
    void* const data = kept ? kept : mapped_file(folder, bytes, /*reusable=*/true);
    if (!memory().told.exchange(true))
      note("an array of {} is kept on disk (in {}, --scratch): {} of memory may be used (--memory)",
           bytes_text(wanted), folder.string(), bytes_text(memory().limit));
    return data;
  }

  at::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

bool can_hold_files(const fs::path& folder) {
  struct statfs about {};
  if (folder.empty() || access(folder.c_str(), W_OK) != 0) return false;
  if (statfs(folder.c_str(), &about) != 0) return false;
  return about.f_type != TMPFS_MAGIC && about.f_type != RAMFS_MAGIC;
}

/// The block that the array lies in; one of no file where that is in memory.
Block block_of(const at::Tensor& array) {
  if (!array.defined() || !array.has_storage()) return {};
  const at::DataPtr& data = array.storage().data_ptr();
  if (data.get_deleter() != &release) return {};
  const std::lock_guard lock(memory().guards);
  const auto found = memory().blocks.find(data.get_context());
  return found == memory().blocks.end() ? Block{} : found->second;
}

}  // namespace

fs::path scratch_folder() {
  {
    const std::lock_guard lock(memory().guards);
    if (!memory().scratch.empty()) return memory().scratch;
  }
  const char* const stated = std::getenv("TMPDIR");
  for (const fs::path& folder :
       {fs::path(stated ? stated : ""), fs::path("/var/tmp"), fs::path("/tmp"), fs::path(".")})
    if (can_hold_files(folder)) return folder;
  return {};
}

double scratch_room() {
  std::error_code fault;
  const fs::path folder = scratch_folder();
  const fs::space_info space = folder.empty() ? fs::space_info{0, 0, 0} : fs::space(folder, fault);
  const std::lock_guard lock(memory().guards);
  return fault ? 0 : static_cast<double>(space.available) + bytes_of_files();
}

void use_memory(const MemoryOptions& options) {
  const bool usable =
      fs::is_directory(options.scratch) && access(options.scratch.c_str(), W_OK | X_OK) == 0;
  require(options.scratch.empty() || usable,
          "--scratch: expected a folder that can be written to, found {}",
          options.scratch.string());
  {
    const std::lock_guard lock(memory().guards);
    memory().scratch = options.scratch;
    drop_files_beyond(0);
    memory().freed.most_used = memory().freed.most_before = 0;
  }
  memory().limit = options.bytes > 0
                       ? options.bytes
                       : std::max(kLeastMemory, kShareOfFree * free_memory() / ranks().on_host);
  // The C library would take ever larger arrays from its heap, whose holes stay: of 16 000 patterns
  // of 64 x 64 half of what the heap held was holes. What it keeps of freed memory would count,
  // too.
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(std::min(kMostKept, memory().limit / 16)));
  static std::once_flag once;
  std::call_once(once, [] {
    // A child that tries a file must not find the lock held by a thread that it does not have.
    pthread_atfork([] { memory().guards.lock(); }, [] { memory().guards.unlock(); },
                   [] {
                     memory().forked = true;
                     drop_files_beyond(0);
                     memory().guards.unlock();
                   });
    c10::SetCPUAllocator(new PlannedAllocator, 1);
  });
}

double memory_limit() { return memory().limit; }

void require_room(double bytes, const std::string& what, const std::string& advice) {
  const double left = std::min(room_left(), free_memory());
  const double in_memory = kLeftOver * std::max(0.0, left), on_disk = scratch_room();
  require(
      bytes <= std::max(in_memory, on_disk),
      "{}: expected at most {} (memory that may be used) or {} (room on disk in {}), found {}; {}",
      what, bytes_text(in_memory), bytes_text(on_disk), scratch_folder().string(),
      bytes_text(bytes), advice);
}

at::Tensor array_in_file(const fs::path& folder, std::int64_t bytes) {
  void* const data = mapped_file(folder, static_cast<std::size_t>(bytes), /*reusable=*/false);
  const c10::Storage storage(c10::Storage::use_byte_size_t(), static_cast<std::size_t>(bytes),
                             pointer_to(data), nullptr, /*resizable=*/false);
  return at::empty({0}, at::kByte).set_(storage, 0, {bytes}, {1});
}

bool lies_in_file(const at::Tensor& array) { return block_of(array).file >= 0; }

void set_aside(const at::Tensor& array) {
  const Block block = block_of(array);
  if (block.file >= 0) give_back(block, array.storage().data_ptr().get_context());
}

namespace {

bool are_scattered(const at::Tensor& rows) {
  if (rows.numel() < 2) return false;
  const at::Tensor follows = rows.slice(0, 1).eq(rows.slice(0, 0, -1) + 1);
  return follows.sum().item<std::int64_t>() * 2 < rows.numel();
}

/// Around a page that is missing the kernel reads another 128 kB, which of scattered rows are other
/// rows: of counts eight times the memory five times as much was read as was asked for.
void expect_scattered(const at::Tensor& array, bool scattered) {
  void* const data = array.storage().data_ptr().get_context();
  const std::lock_guard lock(memory().guards);
  const auto found = memory().blocks.find(data);
  if (found == memory().blocks.end() || found->second.scattered == scattered) return;
  found->second.scattered = scattered;
  madvise(data, found->second.bytes, scattered ? MADV_RANDOM : MADV_NORMAL);
}

}  // namespace

void read_ahead(const at::Tensor& array, const at::Tensor& rows) {
  if (!lies_in_file(array) || rows.numel() == 0) return;
  keep_within_limit();  // on a busy machine the thread that watches comes too late
  expect_scattered(array, are_scattered(rows));
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(array.const_data_ptr());
  const auto row_bytes = static_cast<std::uintptr_t>(array.stride(0)) *
                         static_cast<std::uintptr_t>(array.element_size());
  const at::Tensor numbers = rows.contiguous();
  const auto* number = numbers.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0, end = 0; i < numbers.numel(); i = end) {
    for (end = i + 1; end < numbers.numel() && number[end] == number[end - 1] + 1;) ++end;
    const std::uintptr_t first = begin + static_cast<std::uintptr_t>(number[i]) * row_bytes;
    const std::uintptr_t from = first / page * page;
    madvise(reinterpret_cast<void*>(from),
            first + static_cast<std::uintptr_t>(end - i) * row_bytes - from, MADV_WILLNEED);
  }
}

}  // namespace ptyche
