import { describeError } from '#libs/database';
import { ok, warning } from './finding.js';
import { type Check } from './deployment.js';

const TIMEOUT_MS = 5_000;

/** Whether PUBLIC_URL leads to the API, as seen from this machine. */
export const address: Check = {
  name: 'address',
  async examine({ config: { publicUrl }, isWrong }) {
    if (publicUrl === undefined || isWrong('PUBLIC_URL')) return [];
    try {
      const response = await fetch(`${publicUrl}/health/live`, {
        signal: AbortSignal.timeout(TIMEOUT_MS),
        redirect: 'manual',
      });
      const { object } = (await response.json()) as { object?: unknown };
      if (response.ok && object === 'health') return [ok('PUBLIC_URL leads to the API.')];
      return [
        warning(
          `PUBLIC_URL returns status ${response.status}, but the response is not from the API.`,
          'Correct the address, or how the proxy in front of the instances routes /health/live.',
        ),
      ];
    } catch (error) {
      const { cause } = error as { cause?: unknown };
      return [
        warning(
          `PUBLIC_URL cannot be reached from here: ${describeError(cause ?? error)}.`,
          'Start a server, or correct the address. You can ignore this if this machine has no access to it.',
        ),
      ];
    }
  },
};
