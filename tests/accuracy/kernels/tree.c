/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A binary search tree: built, searched, walked recursively. Pointers, calls and mispredictions. */
#include <stdint.h>
#include <stdio.h>

#define NODES 60000

struct node {
	uint32_t key, count;
	struct node *below[2];
};

static struct node pool[NODES];

__attribute__((noinline)) static struct node *insert(struct node *tree, struct node *leaf)
{
	if (!tree)
		return leaf;
	if (tree->key == leaf->key)
		tree->count++;
	else
		tree->below[leaf->key > tree->key] =
			insert(tree->below[leaf->key > tree->key], leaf);
	return tree;
}

__attribute__((noinline)) static uint64_t walk(const struct node *tree, int depth)
{
	uint64_t sum;

	if (!tree)
		return 0;
	sum = walk(tree->below[0], depth + 1);
	sum = sum * 3 + tree->key % 64 + (uint64_t)depth;
	return sum + walk(tree->below[1], depth + 1);
}

static uint32_t search(const struct node *tree, uint32_t key)
{
	uint32_t steps = 0;

	for (; tree && tree->key != key; steps++)
		tree = tree->below[key > tree->key];
	return steps;
}

int main(void)
{
	uint64_t sum = 0;
	uint32_t x = 1;
	struct node *tree = NULL;

	for (int i = 0; i < NODES; i++) {
		x = x * 1664525u + 1013904223u;
		pool[i].key = x >> 3;
		tree = insert(tree, &pool[i]);
	}
	for (int round = 0; round < 8; round++) {
		sum += walk(tree, 0);
		for (uint32_t i = 0; i < 40000; i++)
			sum += search(tree, i * 12345u + (uint32_t)round);
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
