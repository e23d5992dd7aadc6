/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A small stack machine that runs a fixed program: indirect jumps through a table. */
#include <stdint.h>
#include <stdio.h>

enum op { PUSH, LOAD, STORE, ADD, SUB, MUL, AND, LESS, JUMP, BRANCH, DUP, DROP, MOD, HALT };

struct instruction {
	enum op op;
	int32_t value;
};

/* for (i = 0; i < n; i++) if (i % 3 < 1) s += i * i & 255; else s -= i; */
static const struct instruction program[] = {
	{PUSH, 0}, {STORE, 0}, {LOAD, 0},   {LOAD, 2},	{LESS, 0},    {BRANCH, 32}, {LOAD, 0},
	{PUSH, 3}, {MOD, 0},   {PUSH, 1},   {LESS, 0},	{BRANCH, 21}, {LOAD, 1},    {LOAD, 0},
	{DUP, 0},  {MUL, 0},   {PUSH, 255}, {AND, 0},	{ADD, 0},     {STORE, 1},   {JUMP, 25},
	{LOAD, 1}, {LOAD, 0},  {SUB, 0},    {STORE, 1}, {LOAD, 0},    {PUSH, 1},    {ADD, 0},
	{DUP, 0},  {DROP, 0},  {STORE, 0},  {JUMP, 2},	{HALT, 0},
};

static int32_t interpret(int32_t n)
{
	int32_t stack[16] = {0}, variables[4] = {0, 0, n, 0};
	int top = 0;
	const struct instruction *next = program;

	for (;;) {
		const struct instruction *now = next++;

		switch (now->op) {
		case PUSH:
			stack[top++] = now->value;
			break;
		case LOAD:
			stack[top++] = variables[now->value];
			break;
		case STORE:
			variables[now->value] = stack[--top];
			break;
		case ADD:
			top--;
			stack[top - 1] += stack[top];
			break;
		case SUB:
			top--;
			stack[top - 1] -= stack[top];
			break;
		case MUL:
			top--;
			stack[top - 1] = (int32_t)((uint32_t)stack[top - 1] * (uint32_t)stack[top]);
			break;
		case AND:
			top--;
			stack[top - 1] &= stack[top];
			break;
		case MOD:
			top--;
			stack[top - 1] %= stack[top];
			break;
		case LESS:
			top--;
			stack[top - 1] = stack[top - 1] < stack[top];
			break;
		case JUMP:
			next = program + now->value;
			break;
		case BRANCH:
			if (!stack[--top])
				next = program + now->value;
			break;
		case DUP:
			stack[top] = stack[top - 1];
			top++;
			break;
		case DROP:
			top--;
			break;
		case HALT:
			return variables[1];
		}
	}
}

int main(void)
{
	int32_t sum = 0;

	for (int32_t i = 0; i < 30; i++)
		sum ^= interpret(60000 + i);
	printf("%d\n", sum);
	return 0;
}
