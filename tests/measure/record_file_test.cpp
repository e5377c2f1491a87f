#include "measure/record_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace commlens::measure {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class RecordFileTest : public testing::Test {
 protected:
  RecordFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "commlens-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~RecordFileTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name = "records.jsonl") const { return (folder_ / name).string(); }

  [[nodiscard]] std::string content() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void set_content(const std::string& text) const { std::ofstream(path()) << text; }

  std::filesystem::path folder_;
};

/// Lets files grow to `bytes` and no further, as a full disk would, until the end of its scope.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_before_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_before_);
    rlimit limit = limit_before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &limit_before_);
    std::signal(SIGXFSZ, handler_before_);
  }

 private:
  rlimit limit_before_{};
  void (*handler_before_)(int);
};

TEST_F(RecordFileTest, CreatesTheFileAndWritesALineARecord) {
  RecordFile file(path());
  file.append("{\"a\":1}");
  EXPECT_EQ(content(), "{\"a\":1}\n");  // at once: a crash now loses nothing
  file.append("{\"a\":2}");
  EXPECT_EQ(content(), "{\"a\":1}\n{\"a\":2}\n");
  EXPECT_EQ(file.path(), path());
}

TEST_F(RecordFileTest, AppendsToWhatIsThere) {
  set_content("{\"old\":1}\n");
  RecordFile(path()).append("{}");
  EXPECT_EQ(content(), "{\"old\":1}\n{}\n");
}

TEST_F(RecordFileTest, StartsOnALineOfItsOwnAfterATruncatedLine) {
  set_content("{\"old\":1}\n{\"old\":");
  RecordFile file(path());
  file.append("{\"a\":1}");
  file.append("{\"a\":2}");
  EXPECT_EQ(content(), "{\"old\":1}\n{\"old\":\n{\"a\":1}\n{\"a\":2}\n");
}

TEST_F(RecordFileTest, WritesNothingByBeingOpened) {
  set_content("{\"old\":");
  {
    const RecordFile file(path());
  }
  EXPECT_EQ(content(), "{\"old\":");
}

TEST_F(RecordFileTest, CutsTheFileBackWhereTheDiskFillsUpWithinALine) {
  RecordFile file(path());
  const std::string first(100, 'a');
  file.append(first);
  {
    const FileSizeLimit limit(150);
    EXPECT_THAT([&] { file.append(std::string(100, 'b')); },
                ThrowsMessage<RecordFileError>(AllOf(HasSubstr(path()), HasSubstr("File too large"))));
    EXPECT_EQ(content(), first + "\n");
    file.append(std::string(40, 'c'));  // what fits is still taken
  }
  file.append("d");
  EXPECT_EQ(content(), first + "\n" + std::string(40, 'c') + "\nd\n");
}

TEST_F(RecordFileTest, KeepsATruncatedLineWhereTheNextDoesNotFit) {
  set_content("{\"old\":");
  RecordFile file(path());
  const FileSizeLimit limit(20);
  EXPECT_THROW(file.append(std::string(100, 'b')), RecordFileError);
  EXPECT_EQ(content(), "{\"old\":");
}

TEST_F(RecordFileTest, SaysThatADeviceIsFull) {
  RecordFile file("/dev/full");
  EXPECT_THAT([&] { file.append("{}"); },
              ThrowsMessage<RecordFileError>(AllOf(HasSubstr("/dev/full"), HasSubstr("No space left on device"))));
}

TEST_F(RecordFileTest, NamesThePathThatCannotBeOpened) {
  const std::string missing = path("no/such/folder");
  EXPECT_THAT([&] { RecordFile file(missing); },
              ThrowsMessage<RecordFileError>(AllOf(HasSubstr(missing), HasSubstr("No such file or directory"))));
  EXPECT_THAT([&] { RecordFile file(folder_.string()); },
              ThrowsMessage<RecordFileError>(AllOf(HasSubstr(folder_.string()), HasSubstr("Is a directory"))));
}

/// Gives up root's right to write everything until the end of its scope.
class WithoutRootsRights {
 public:
  WithoutRootsRights() {
    constexpr uid_t nobody = 65534;
    if (before_ == 0) given_up_ = seteuid(nobody) == 0;
  }
  WithoutRootsRights(const WithoutRootsRights&) = delete;
  WithoutRootsRights& operator=(const WithoutRootsRights&) = delete;
  ~WithoutRootsRights() {
    if (given_up_ && seteuid(before_) != 0) std::abort();
  }

 private:
  uid_t before_ = geteuid();
  bool given_up_ = false;
};

TEST_F(RecordFileTest, NamesAFileThatMustNotBeWritten) {
  set_content("");
  std::filesystem::permissions(path(), std::filesystem::perms::owner_read);
  const WithoutRootsRights without_rights;
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  EXPECT_THAT([&] { RecordFile file(path()); },
              ThrowsMessage<RecordFileError>(AllOf(HasSubstr(path()), HasSubstr("Permission denied"))));
}

/// Catches the signal, so that it interrupts a write without ending the program.
void take_no_notice(int) {}

TEST_F(RecordFileTest, WritesARecordInPiecesThroughAPipeWhileSignalsInterruptIt) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  RecordFile file(path("pipe"));
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = take_no_notice;  // without SA_RESTART
  sigaction(SIGUSR1, &action, &before);
  const std::string line(1 << 20, 'x');  // more than a pipe holds
  const pthread_t writer = pthread_self();
  std::string received;
  std::thread reader([&] {
    // The first signal ends a write that has filled the pipe, the others end writes that have written nothing yet.
    for (int signals = 0; signals < 5; ++signals) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      pthread_kill(writer, SIGUSR1);
    }
    const int descriptor = open(path("pipe").c_str(), O_RDONLY);
    std::vector<char> piece(4096);
    while (received.size() < line.size() + 1) {
      const ssize_t count = read(descriptor, piece.data(), piece.size());
      if (count <= 0) break;
      received.append(piece.data(), static_cast<std::size_t>(count));
    }
    close(descriptor);
  });
  file.append(line);
  reader.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(received, line + "\n");
}

}  // namespace
}  // namespace commlens::measure
