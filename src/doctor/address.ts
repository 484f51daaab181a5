import { describeError } from '#libs/database';
import { ok, warning } from './finding.js';
import { type Check } from './deployment.js';

const PATIENCE_MS = 5_000;

/** Whether the API answers where errors say that it is. Seen from here, which need not be where clients are. */
export const address: Check = {
  name: 'address',
  async examine({ config: { publicUrl }, isWrong }) {
    if (publicUrl === undefined || isWrong('PUBLIC_URL')) return [];
    try {
      const response = await fetch(`${publicUrl}/health/live`, {
        signal: AbortSignal.timeout(PATIENCE_MS),
        redirect: 'manual',
      });
      const { object } = (await response.json()) as { object?: unknown };
      if (response.ok && object === 'health') return [ok('PUBLIC_URL leads to the API.')];
      return [
        warning(
          `PUBLIC_URL answers with status ${response.status}, and not as the API does.`,
          'Mend the address, or what the proxy before the instances does with /health/live.',
        ),
      ];
    } catch (error) {
      const { cause } = error as { cause?: unknown };
      return [
        warning(
          `PUBLIC_URL cannot be reached from here: ${describeError(cause ?? error)}.`,
          'Start a server, or mend the address; right where this machine may not reach it.',
        ),
      ];
    }
  },
};
