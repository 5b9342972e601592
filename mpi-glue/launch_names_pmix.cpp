// SPDX-License-Identifier: MIT
// In Open MPI 4.1 PMIx is a component, loaded by MPI_Init where mpirun or Slurm has
// started the process: as libpmix (Debian), or as a copy of Open MPI's own, whose names
// have a prefix.  Structures and functions used here are those of PMIx 2.0 and later.
// mpirun's PMIx keeps names; Slurm's does not.
#include "launch_names.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pmix.h>

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
           find(library, prefix + "PMIx_Lookup", pmix.lookup);
}

/// Of the libraries that are loaded, the one that has PMIx; it stays loaded.
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

class PmixNames : public LaunchNames {
public:
    PmixNames(const Pmix& pmix, const pmix_proc_t& self)
        : LaunchNames(self.nspace), pmix_(pmix), prefix_("headway/" + job() + "/") {}
    PmixNames(const PmixNames&) = delete;
    PmixNames& operator=(const PmixNames&) = delete;
    ~PmixNames() override { pmix_.finalize(nullptr, 0); }

    [[nodiscard]] bool publish(const std::string& name, const std::string& value) override {
        pmix_info_t published{};
        set_key(published.key, name);
        std::string text = value;
        published.value.type = PMIX_STRING;
        published.value.data.string = text.data();
        return pmix_.publish(&published, 1) == PMIX_SUCCESS;
    }

    [[nodiscard]] std::optional<std::string> lookup(const std::string& name) override {
        pmix_pdata_t asked{};
        set_key(asked.key, name);
        if (pmix_.lookup(&asked, 1, nullptr, 0) != PMIX_SUCCESS) return std::nullopt;
        if (asked.value.type != PMIX_STRING || asked.value.data.string == nullptr)
            return std::nullopt;
        std::string value = asked.value.data.string;
        std::free(asked.value.data.string);
        return value;
    }

private:
    void set_key(char* key, const std::string& name) const {
        key[(prefix_ + name).copy(key, PMIX_MAX_KEYLEN)] = '\0';
    }

    Pmix pmix_;
    std::string prefix_;
};

}  // namespace

tl::expected<std::unique_ptr<LaunchNames>, std::string> open_launch_names() {
    Pmix pmix;
    if (::dl_iterate_phdr(look_in, &pmix) == 0)
        return tl::unexpected(std::string("Open MPI has no PMIx here"));
    // it is initialised already: this counts one more user, and tells who we are
    pmix_proc_t self{};
    if (pmix.init(&self, nullptr, 0) != PMIX_SUCCESS)
        return tl::unexpected(std::string("PMIx does not answer"));
    return std::make_unique<PmixNames>(pmix, self);
}

}  // namespace headway::glue
