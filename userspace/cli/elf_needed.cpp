// SPDX-License-Identifier: Apache-2.0
#include "cli/elf_needed.hpp"

#include <elf.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>

namespace headway {
namespace {

constexpr std::uint64_t table_max_bytes = 16 << 20;  // of names or entries

class ElfFile {
public:
    explicit ElfFile(const std::filesystem::path& file) : stream_(file, std::ios::binary) {}

    std::vector<std::string> needed() {
        const auto header = at<Elf64_Ehdr>(0);
        if (!header || !is_ours(*header)) return {};
        for (unsigned i = 0; i < header->e_phnum; ++i) {
            const auto segment = at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
            if (!segment) return {};
            segments_.push_back(*segment);
        }
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type == PT_DYNAMIC) return names(segment);
        }
        return {};
    }

private:
    static bool is_ours(const Elf64_Ehdr& header) {
        constexpr unsigned char order =
            std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
        return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
               header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == order &&
               header.e_phentsize == sizeof(Elf64_Phdr);
    }

    bool read(std::uint64_t offset, char* to, std::uint64_t size) {
        stream_.clear();
        stream_.seekg(static_cast<std::streamoff>(offset));
        return static_cast<bool>(stream_.read(to, static_cast<std::streamsize>(size)));
    }

    template <class Structure>
    std::optional<Structure> at(std::uint64_t offset) {
        Structure structure{};
        if (!read(offset, reinterpret_cast<char*>(&structure), sizeof(structure)))
            return std::nullopt;
        return structure;
    }

    /// Where in the file an address of the loaded program comes from.
    std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                address - segment.p_vaddr < segment.p_filesz)
                return segment.p_offset + (address - segment.p_vaddr);
        }
        return std::nullopt;
    }

    std::vector<std::string> names(const Elf64_Phdr& dynamic) {
        std::vector<std::uint64_t> places;
        std::uint64_t table_address = 0;
        std::uint64_t table_size = 0;
        const std::uint64_t size = std::min<std::uint64_t>(dynamic.p_filesz, table_max_bytes);
        for (std::uint64_t done = 0; done + sizeof(Elf64_Dyn) <= size; done += sizeof(Elf64_Dyn)) {
            const auto entry = at<Elf64_Dyn>(dynamic.p_offset + done);
            if (!entry || entry->d_tag == DT_NULL) break;
            if (entry->d_tag == DT_NEEDED) places.push_back(entry->d_un.d_val);
            if (entry->d_tag == DT_STRTAB) table_address = entry->d_un.d_ptr;
            if (entry->d_tag == DT_STRSZ) table_size = entry->d_un.d_val;
        }
        const auto offset = offset_of(table_address);
        if (!offset || table_size == 0 || table_size > table_max_bytes) return {};
        std::string table(table_size, '\0');
        if (!read(*offset, table.data(), table.size())) return {};
        std::vector<std::string> found;
        for (const std::uint64_t place : places) {
            if (place < table.size()) found.emplace_back(table.c_str() + place);
        }
        return found;
    }

    std::ifstream stream_;
    std::vector<Elf64_Phdr> segments_;
};

}  // namespace

std::vector<std::string> elf_needed(const std::filesystem::path& file) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) return {};
    return ElfFile(file).needed();
}

}  // namespace headway
