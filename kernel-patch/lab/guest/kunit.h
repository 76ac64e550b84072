/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the simulated disk's model and its KUnit tests use of the kernel, for a program of the
 * host. Stands in for every header they include, so that the tests of the patch run where no
 * patched kernel has been built.
 */
#ifndef RCP_KUNIT_H
#define RCP_KUNIT_H

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long u64;
typedef uint32_t u32;
typedef uint8_t u8;

#define U64_MAX (~0ULL)
#define U32_MAX UINT32_MAX
#define NSEC_PER_SEC 1000000000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_USEC 1000L
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) min((type)(a), (type)(b))

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

static inline u64 div64_u64_rem(u64 dividend, u64 divisor, u64 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}

static inline u32 int_sqrt64(u64 x)
{
	u64 root = 0, bit = 1ULL << 62;

	for (; bit; bit >>= 2) {
		if (x >= root + bit) {
			x -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return root;
}

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list->prev = list;
}

static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *list)
{
	entry->next = list;
	entry->prev = list->prev;
	list->prev->next = entry;
	list->prev = entry;
}

static inline void list_del_init(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
	INIT_LIST_HEAD(entry);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *list)
{
	list_del_init(entry);
	list_add_tail(entry, list);
}

#define list_first_entry(list, type, member) container_of((list)->next, type, member)
#define list_first_entry_or_null(list, type, member)                                               \
	(list_empty(list) ? NULL : list_first_entry(list, type, member))
#define list_next_entry(at, member) container_of((at)->member.next, __typeof__(*(at)), member)
#define list_for_each_entry(at, list, member)                                                      \
	for (at = list_first_entry(list, __typeof__(*at), member); &at->member != (list);          \
	     at = list_next_entry(at, member))
#define list_for_each_entry_safe(at, after, list, member)                                          \
	for (at = list_first_entry(list, __typeof__(*at), member),                                 \
	    after = list_next_entry(at, member);                                                   \
	     &at->member != (list); at = after, after = list_next_entry(at, member))

/* One newline at the end of either does not count. */
static inline bool sysfs_streq(const char *a, const char *b)
{
	size_t length_a = strlen(a), length_b = strlen(b);

	length_a -= length_a && a[length_a - 1] == '\n';
	length_b -= length_b && b[length_b - 1] == '\n';
	return length_a == length_b && !memcmp(a, b, length_a);
}

static inline int __sysfs_match_string(const char *const *words, size_t count, const char *text)
{
	for (size_t i = 0; i < count && words[i]; i++)
		if (sysfs_streq(words[i], text))
			return i;
	return -EINVAL;
}

static inline int kstrtou32(const char *text, int base, u32 *value)
{
	unsigned long long number;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &end, base);
	end += *end == '\n';
	if (*end)
		return -EINVAL;
	if (errno || number > U32_MAX)
		return -ERANGE;
	*value = number;
	return 0;
}

static inline void sort(void *base, size_t count, size_t size,
			int (*compare)(const void *, const void *), void *swap)
{
	qsort(base, count, size, compare);
}

struct kunit {
	bool failed;
};

struct kunit_case {
	void (*run)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

#define GFP_KERNEL 0
#define kunit_kzalloc(test, size, flags) calloc(1, size)
#define kunit_kcalloc(test, count, size, flags) calloc(count, size)
#define kunit_kfree(test, pointer) free(pointer)
#define kunit_info(test, format, ...) printf("# " format, ##__VA_ARGS__)

#define KUNIT_FAIL_UNLESS(test, true, format, ...)                                                 \
	do {                                                                                       \
		if (!(true)) {                                                                     \
			(test)->failed = true;                                                     \
			printf("# %s:%d: " format "\n", __func__, __LINE__, ##__VA_ARGS__);        \
		}                                                                                  \
	} while (0)
#define KUNIT_COMPARE(test, a, b, operator)                                                        \
	do {                                                                                       \
		long long left = (a), right = (b);                                                 \
		KUNIT_FAIL_UNLESS(test, left operator right, #a " is %lld, " #b " is %lld", left,  \
				  right);                                                          \
	} while (0)
#define KUNIT_EXPECT_EQ(test, a, b) KUNIT_COMPARE(test, a, b, ==)
#define KUNIT_EXPECT_LT(test, a, b) KUNIT_COMPARE(test, a, b, <)
#define KUNIT_EXPECT_LE(test, a, b) KUNIT_COMPARE(test, a, b, <=)
#define KUNIT_EXPECT_GT(test, a, b) KUNIT_COMPARE(test, a, b, >)
#define KUNIT_EXPECT_GE(test, a, b) KUNIT_COMPARE(test, a, b, >=)
#define KUNIT_ASSERT_EQ KUNIT_EXPECT_EQ
#define KUNIT_EXPECT_EQ_MSG(test, a, b, format, ...)                                               \
	KUNIT_FAIL_UNLESS(test, (a) == (b), format, ##__VA_ARGS__)
#define KUNIT_EXPECT_MEMEQ(test, a, b, size)                                                       \
	KUNIT_FAIL_UNLESS(test, !memcmp(a, b, size), #a " differs from " #b)
#define KUNIT_ASSERT_NOT_NULL(test, pointer)                                                       \
	do {                                                                                       \
		if (!(pointer))                                                                    \
			abort();                                                                   \
	} while (0)

/* KUnit frees what a test allocates; here the end of the program does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

#define KUNIT_CASE(test_name) { .run = test_name, .name = #test_name }
#define MODULE_DESCRIPTION(text) _Static_assert(1, "")
#define MODULE_LICENSE(text) _Static_assert(1, "")

/* Prints what KUnit prints; ends with 1 when a test failed. */
#define kunit_test_suite(suite)                                                                    \
	int main(void)                                                                             \
	{                                                                                          \
		struct kunit_case *at = (suite).test_cases;                                        \
		bool failed = false;                                                               \
                                                                                                   \
		for (int number = 1; at->run; at++, number++) {                                    \
			struct kunit test = {0};                                                   \
                                                                                                   \
			at->run(&test);                                                            \
			printf("%s %d %s\n", test.failed ? "not ok" : "ok", number, at->name);     \
			failed |= test.failed;                                                     \
		}                                                                                  \
		return failed;                                                                     \
	}                                                                                          \
	_Static_assert(1, "")

#endif
