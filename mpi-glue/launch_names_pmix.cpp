// SPDX-License-Identifier: MIT
// In Open MPI 4.1 PMIx is a component, loaded by MPI_Init where mpirun or Slurm has
// started the process: as libpmix (Debian), or as a copy of Open MPI's own, whose names
// have a prefix.  Structures and functions used here are those of PMIx 2.0 and later.
//
// mpirun's PMIx keeps names.  Slurm's does not, but any rank's PMIx server tells, when it
// is asked, what the rank has put and committed, as the MPI library's addresses are told
// ("direct modex").  With PMIX_GET_REFRESH_CACHE (PMIx 4) it tells what there is, instead
// of waiting for what is not there yet.
#include "launch_names.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pmix.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace headway::glue {
namespace {

struct Pmix {
    decltype(&PMIx_Init) init = nullptr;
    decltype(&PMIx_Finalize) finalize = nullptr;
    decltype(&PMIx_Publish) publish = nullptr;
    decltype(&PMIx_Lookup) lookup = nullptr;
    decltype(&PMIx_Put) put = nullptr;
    decltype(&PMIx_Commit) commit = nullptr;
    decltype(&PMIx_Get) get = nullptr;
};

template <class Function>
bool find(void* library, const std::string& name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name.c_str()));
    return function != nullptr;
}

bool find_all(void* library, const std::string& prefix, Pmix& pmix) {
    return find(library, prefix + "PMIx_Init", pmix.init) &&
           find(library, prefix + "PMIx_Finalize", pmix.finalize) &&
           find(library, prefix + "PMIx_Publish", pmix.publish) &&
           find(library, prefix + "PMIx_Lookup", pmix.lookup) &&
           find(library, prefix + "PMIx_Put", pmix.put) &&
           find(library, prefix + "PMIx_Commit", pmix.commit) &&
           find(library, prefix + "PMIx_Get", pmix.get);
}

/// Finds PMIx in a loaded library, which then stays loaded.
int look_in(dl_phdr_info* object, std::size_t, void* found) {
    if (std::string_view(object->dlpi_name).find("pmix") == std::string_view::npos) return 0;
    void* const library = ::dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return 0;
    auto& pmix = *static_cast<Pmix*>(found);
    for (const char* prefix : {"", "OPAL_MCA_PMIX3X_", "OPAL_MCA_PMIX4X_"}) {
        if (find_all(library, prefix, pmix)) return 1;
    }
    ::dlclose(library);
    return 0;
}

/// One more user of PMIx, which is initialised already.
class PmixNames : public LaunchNames {
public:
    PmixNames(const Pmix& pmix, const pmix_proc_t& self)
        : LaunchNames(self.nspace), pmix_(pmix), self_(self), prefix_("headway/" + job() + "/") {}
    PmixNames(const PmixNames&) = delete;
    PmixNames& operator=(const PmixNames&) = delete;
    ~PmixNames() override { pmix_.finalize(nullptr, 0); }

protected:
    [[nodiscard]] const Pmix& pmix() const { return pmix_; }
    [[nodiscard]] const pmix_proc_t& self() const { return self_; }

    void set_key(char* key, pmix_rank_t rank, const std::string& name) const {
        const std::string whole = prefix_ + std::to_string(rank) + "/" + name;
        key[whole.copy(key, PMIX_MAX_KEYLEN)] = '\0';
    }

    /// Takes the text, which PMIx has allocated and does not free.
    [[nodiscard]] static std::optional<std::string> text_of(const pmix_value_t& value) {
        if (value.type != PMIX_STRING || value.data.string == nullptr) return std::nullopt;
        std::string text = value.data.string;
        std::free(value.data.string);
        return text;
    }

private:
    Pmix pmix_;
    pmix_proc_t self_;
    std::string prefix_;
};

/// The launcher keeps these names.
class PublishedNames : public PmixNames {
public:
    using PmixNames::PmixNames;

    [[nodiscard]] bool publish(const std::string& name, const std::string& value) override {
        pmix_info_t published{};
        set_key(published.key, self().rank, name);
        std::string text = value;
        published.value.type = PMIX_STRING;
        published.value.data.string = text.data();
        return pmix().publish(&published, 1) == PMIX_SUCCESS;
    }

    [[nodiscard]] std::optional<std::string> lookup(int rank, const std::string& name) override {
        pmix_pdata_t asked{};
        set_key(asked.key, static_cast<pmix_rank_t>(rank), name);
        if (pmix().lookup(&asked, 1, nullptr, 0) != PMIX_SUCCESS) return std::nullopt;
        return text_of(asked.value);
    }
};

/// Each rank's server tells these names.
class CommittedNames : public PmixNames {
public:
    using PmixNames::PmixNames;

    [[nodiscard]] bool publish(const std::string& name, const std::string& value) override {
        pmix_key_t key{};
        set_key(key, self().rank, name);
        std::string text = value;
        pmix_value_t put{};
        put.type = PMIX_STRING;
        put.data.string = text.data();
        return pmix().put(PMIX_GLOBAL, key, &put) == PMIX_SUCCESS &&
               pmix().commit() == PMIX_SUCCESS;
    }

    [[nodiscard]] std::optional<std::string> lookup(int rank, const std::string& name) override {
        pmix_proc_t of = self();
        of.rank = static_cast<pmix_rank_t>(rank);
        pmix_key_t key{};
        set_key(key, of.rank, name);
        // a PMIx that does not know the first, and so waits, does so for a second
        std::array<pmix_info_t, 2> how{};
        std::strcpy(how[0].key, PMIX_GET_REFRESH_CACHE);
        how[0].value.type = PMIX_BOOL;
        how[0].value.data.flag = true;
        std::strcpy(how[1].key, PMIX_TIMEOUT);
        how[1].value.type = PMIX_INT;
        how[1].value.data.integer = 1;
        pmix_value_t* found = nullptr;
        if (pmix().get(&of, key, how.data(), how.size(), &found) != PMIX_SUCCESS ||
            found == nullptr)
            return std::nullopt;
        auto text = text_of(*found);
        std::free(found);
        return text;
    }
};

bool is_of_slurm(const pmix_proc_t& self) {
    return std::string_view(self.nspace).substr(0, 11) == "slurm.pmix.";
}

}  // namespace

OpenedNames open_pmix_names() {
    Pmix pmix;
    if (::dl_iterate_phdr(look_in, &pmix) == 0)
        return tl::unexpected(std::string("Open MPI has no PMIx here"));
    // it is initialised already: this counts one more user, and tells who we are
    pmix_proc_t self{};
    if (pmix.init(&self, nullptr, 0) != PMIX_SUCCESS)
        return tl::unexpected(std::string("PMIx does not answer"));
    if (is_of_slurm(self)) return std::make_unique<CommittedNames>(pmix, self);
    return std::make_unique<PublishedNames>(pmix, self);
}

}  // namespace headway::glue
