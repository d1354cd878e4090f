// SPDX-License-Identifier: Apache-2.0

/* load.c: finds and loads the core, and notes forks. */

#include "library.h"

tagbus_core core;
int loaded;
int forked;
int *born;

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static const tagbus_hooks hooks = {box_new, box_drop, ring, loop_event, loop_batch, loop_end, loop_done};

/* A fork waits for a thread that loads the core: a child cannot use half of it, nor wait for that thread. */
static void before_fork(void) { pthread_mutex_lock(&load_lock); }
static void after_fork(void) { pthread_mutex_unlock(&load_lock); }

static void in_child(void)
{
	if (LOAD(loaded))
		STORE(forked, 1);
	pthread_mutex_unlock(&load_lock);
}

__attribute__((constructor)) static void guard_forks(void) { (void)pthread_atfork(before_fork, after_fork, in_child); }

/* mark_birth has born say whether this process is one of its own. */
static void mark_birth(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return;
	if (madvise(p, size, MADV_WIPEONFORK) != 0) {
		munmap(p, size);
		return;
	}
	STORE(*p, 1);
	STORE(born, p);
}

/* descriptors returns 0 if there are some: the runtime in the core ends the process if it gets none. */
static int descriptors(void)
{
	int fds[8], n = 0, r = 0;
	while (n < 8 && (fds[n] = eventfd(0, EFD_CLOEXEC)) >= 0)
		n++;
	if (n < 8)
		r = say(TAGBUS_ESYSTEM, "tagbus_open: eventfd: %s: close some open files, or raise their limit (ulimit -n)", strerror(errno));
	while (n > 0)
		close(fds[--n]);
	return r;
}

/* beside writes the path of a file beside a library. */
static void beside(char *path, size_t room, const char *library, const char *name)
{
	const char *slash = strrchr(library, '/');
	if (slash != NULL)
		snprintf(path, room, "%.*s/%s", (int)(slash - library), library, name);
	else
		snprintf(path, room, "%s", name);
}

/* open_core_file opens the file that TAGBUS_CORE names, or the one beside this library, also where a link led
 * to that. If there is none it is the one that the system finds: a wheel has no etcd, which a package may have. */
static void *open_core_file(char *path, size_t room, const char *name)
{
	const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
	const char *set = secure_getenv("TAGBUS_CORE");
	char real[PATH_MAX];
	Dl_info info;
	void *library = NULL;
	if (set != NULL && *set != 0) {
		snprintf(path, room, "%s", set);
	} else if (dladdr((void *)(uintptr_t)&core, &info) == 0 || info.dli_fname == NULL) {
		snprintf(path, room, "%s", name);
	} else {
		beside(path, room, info.dli_fname, name);
		if (access(path, F_OK) != 0 && realpath(info.dli_fname, real) != NULL)
			beside(path, room, real, name);
		if (access(path, F_OK) != 0)
			library = dlopen(name, flags);
	}
	return library != NULL ? library : dlopen(path, flags);
}

/* not_loaded says why the core is not loaded, and what to do. */
static int not_loaded(const char *why, int etcd, int glibc)
{
	/* The text is what musl says: in a library that is loaded late it has no place for the thread's memory of Go.
	 * Compatibility layers have the symbol of glibc. */
	if (!glibc || strstr(why, "initial-exec TLS") != NULL)
		return say(TAGBUS_ELOAD, "tagbus_open: the core cannot be loaded: the C library here is musl, as of Alpine, which cannot load the "
			"Go runtime (%s): run the program where there is glibc, as on Debian or AlmaLinux, or leave the bus to the "
			"programs subscriber --output and publisher --input, and read and write their pipes", why);
	return say(TAGBUS_ELOAD, "tagbus_open: the core cannot be loaded: %s: install %s, or name its file in TAGBUS_CORE", why,
		etcd ? "libtagbus0-etcd" : "libtagbus0");
}

static const char etcd_scheme[] = "etcd://";

/* load loads the core. It runs with all signals blocked: the threads of Go inherit that, so handlers of
 * the program, some of which lack SA_ONSTACK, do not run on their small stacks. */
static int load(void *arg)
{
	const char *bus = arg;
	int etcd = strncmp(bus, etcd_scheme, sizeof etcd_scheme - 1) == 0, abi;
	int glibc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version") != NULL; /* later it would end the text of dlerror */
	char path[PATH_MAX];
	void *library, *symbol;
	tagbus_core_v1_fn open_core;
	tagbus_core table;
	if (descriptors() != 0)
		return said.code;
	library = open_core_file(path, sizeof path, etcd ? "libtagbus-core-etcd.so" : "libtagbus-core.so");
	if (library == NULL) {
		const char *why = dlerror();
		return not_loaded(why != NULL ? why : path, etcd, glibc);
	}
	symbol = dlsym(library, "tagbus_core_v1");
	memcpy(&open_core, &symbol, sizeof open_core);
	memset(&table, 0, sizeof table);
	abi = symbol != NULL ? open_core(TAGBUS_CORE_ABI, &table, &hooks) : 0;
	if (abi == TAGBUS_CORE_TAKEN) {
		return say(TAGBUS_ELOAD, "tagbus_open: another copy of libtagbus.so in this process has %s: have one copy of the library, or a core of its own "
			"beside each", path);
	}
	if (abi != TAGBUS_CORE_ABI) {
		return say(TAGBUS_ELOAD, "tagbus_open: %s is not of this libtagbus.so (it has core ABI %d, want %d): install both from one package", path, abi,
			TAGBUS_CORE_ABI);
	}
	core = table;
	mark_birth();
	STORE(loaded, 1);
	return 0;
}

/* need_core loads the core, unless that was done. */
int need_core(const char *bus)
{
	int r = 0;
	if (is_forked())
		return usable("tagbus_open");
	pthread_mutex_lock(&load_lock);
	if (!LOAD(loaded)) {
		char *copy = strndup(bus, sizeof etcd_scheme); /* its scheme */
		r = copy != NULL ? with_signals_blocked(load, copy) : say(TAGBUS_ESYSTEM, "tagbus_open: out of memory");
		free(copy);
	}
	pthread_mutex_unlock(&load_lock);
	if (r == 0 && core.needs_etcd(bus))
		return say(TAGBUS_ELOAD, "tagbus_open: this process has loaded libtagbus-core.so, which has no etcd, for the bus that it opened "
			"first: open the bus on etcd first, or set TAGBUS_CORE to the file of libtagbus-core-etcd.so, which opens folders, too");
	return r;
}
