/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/* Recursion, calls back from a library, a jump table, loops: a program to be counted exactly. */
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *left, *right;
	int key;
};

static struct node *insert(struct node *n, int key)
{
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n)
			abort();
		n->key = key;
	} else if (key < n->key) {
		n->left = insert(n->left, key);
	} else if (key > n->key) {
		n->right = insert(n->right, key);
	}
	return n;
}

static long sum(const struct node *n)
{
	return n ? sum(n->left) + n->key + sum(n->right) : 0;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

static int act(int c)
{
	switch (c % 9) {
	case 0:
		return 3;
	case 1:
		return c * 2;
	case 2:
		return c ^ 5;
	case 3:
		return c - 7;
	case 4:
		return c / 3;
	case 5:
		return c + 11;
	case 6:
		return c * c;
	case 7:
		return ~c;
	default:
		return 1;
	}
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 20000, *list = calloc(n, sizeof(*list));
	struct node *tree = NULL;
	unsigned random = 1;
	long acts = 0;

	for (int i = 0; list && i < n; i++) {
		random = random * 1664525 + 1013904223;
		list[i] = (int)(random >> 8);
		tree = insert(tree, list[i] % 5000);
		acts += act(list[i] & 255);
	}
	qsort(list, n, sizeof(*list), compare);
	printf("%ld %d %ld\n", sum(tree), list[n / 2], acts);
	return 3;
}
