// SPDX-License-Identifier: Apache-2.0
//
// What an endpoint of shared memory is called: the name of its file, and a proof. A provider
// believes what such a file holds, and crashes over that of an endpoint which is gone; everybody
// can list the files and name one. So the owner writes a mark and random bytes behind the end of
// the memory, where only its user reads them, and a name counts with those bytes only. A file
// without the mark, as it is before that and as other programs make them, is nobody's to name.
//
//   std::string file = *NewMemoryFile();              // "4711:0:1234567890"
//   fi_setname(ep, ProviderName(file)); fi_enable(ep);
//   std::vector<std::byte> name = *SealMemory(file);  // to the peer, over the side connection
//   absl::Status fits = CheckMemoryName(name, geteuid());
//
// Any thread.
#ifndef VOF_BACKENDS_OFI_MEMORY_NAME_H_
#define VOF_BACKENDS_OFI_MEMORY_NAME_H_

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vof {

inline constexpr size_t kMemoryProofBytes = 24;  // 8 of the mark, 16 random

// "PID:USER:RANDOM": numbers, as in the names that providers make. Those begin with the number of
// the process alone, which sandboxes share and which comes again.
absl::StatusOr<std::string> NewMemoryFile();
// As the provider calls it.
std::string ProviderName(const std::string& file);
// Where it is.
std::string MemoryPath(const std::string& file);

// Of a file that is there: writes a new proof behind its end. The name to tell the peer: that of
// the provider, a NUL, the proof. Errors: of the file system.
absl::StatusOr<std::vector<std::byte>> SealMemory(const std::string& file);

// Whether whoever sent `name` may have its memory used: the file is there, of `user`, and ends with
// the proof. kInvalidArgument: why not.
absl::Status CheckMemoryName(std::span<const std::byte> name, uid_t user);

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_MEMORY_NAME_H_
