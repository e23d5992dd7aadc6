/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Bodies that attract one another: long chains of floating-point work, divisions, square roots. */
#include <math.h>
#include <stdio.h>

#define N 5

struct body {
	double x[3], v[3], mass;
};

static struct body bodies[N];

static void fill(void)
{
	for (int i = 0; i < N; i++) {
		bodies[i].mass = 1.0 + i;
		for (int k = 0; k < 3; k++) {
			bodies[i].x[k] = (i * 7 + k * 3) % 11 - 5.0;
			bodies[i].v[k] = ((i + k) % 3 - 1) * 0.125;
		}
	}
}

static void advance(double dt)
{
	for (int i = 0; i < N; i++)
		for (int j = i + 1; j < N; j++) {
			double d[3], square = 0.01;

			for (int k = 0; k < 3; k++) {
				d[k] = bodies[i].x[k] - bodies[j].x[k];
				square += d[k] * d[k];
			}
			double pull = dt / (square * sqrt(square));
			for (int k = 0; k < 3; k++) {
				bodies[i].v[k] -= d[k] * bodies[j].mass * pull;
				bodies[j].v[k] += d[k] * bodies[i].mass * pull;
			}
		}
	for (int i = 0; i < N; i++)
		for (int k = 0; k < 3; k++)
			bodies[i].x[k] += dt * bodies[i].v[k];
}

static double energy(void)
{
	double sum = 0;

	for (int i = 0; i < N; i++)
		for (int k = 0; k < 3; k++)
			sum += 0.5 * bodies[i].mass * bodies[i].v[k] * bodies[i].v[k];
	return sum;
}

int main(void)
{
	double sum = 0;

	fill();
	for (int i = 0; i < 400000; i++) {
		advance(0.001);
		if (i % 5 == 0)
			sum += energy();
	}
	printf("%.9g\n", sum);
	return 0;
}
