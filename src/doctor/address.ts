import { describeError } from '#libs/database';
import { type Check } from './deployment.js';

const TIMEOUT_MS = 5_000;

/** Whether PUBLIC_URL leads to the API, as seen from this machine. */
export const address: Check = {
  name: 'address',
  async examine({ config: { publicUrl }, isWrong }, found) {
    if (publicUrl === undefined || isWrong('PUBLIC_URL')) return undefined;
    try {
      const response = await fetch(`${publicUrl}/health/live`, {
        signal: AbortSignal.timeout(TIMEOUT_MS),
        redirect: 'manual',
      });
      const text = await response.text();
      if (response.ok && text.includes('"object":"health"')) return 'PUBLIC_URL leads to the API.';
      if (response.status === 502 || response.status === 503)
        return found.warning(
          `PUBLIC_URL returns status ${response.status}: the proxy there has no instance that is ready.`,
          'Start the instances, or follow the other findings. If they are ready, correct the addresses in the proxy.',
        );
      return found.warning(
        `PUBLIC_URL returns status ${response.status}, but the response is not from the API.`,
        'Correct the address, or how the proxy in front of the instances routes /health/live.',
      );
    } catch (error) {
      const { cause } = error as { cause?: unknown };
      return found.warning(
        `PUBLIC_URL cannot be reached from here: ${describeError(cause ?? error)}.`,
        'Start a server, or correct the address. You can ignore this if this machine has no access to it.',
      );
    }
  },
};
