import { type LoggerService } from '@nestjs/common';
import { format } from 'node:util';

/** The number of texts that are remembered, so that none is logged twice. */
const MOST_TEXTS = 1_000;

/** Logs what libraries print and Node's own warnings, each text once, because some print the same for every connection. */
export function logConsole(logger: Pick<LoggerService, 'warn'>): void {
  const logged = new Set<string>();
  const log = (...parts: unknown[]) => {
    const text = format(...parts);
    if (logged.has(text) || logged.size >= MOST_TEXTS) return;
    logged.add(text);
    logger.warn({ message: 'library warning', text });
  };
  for (const method of ['debug', 'log', 'info', 'warn', 'error'] as const) console[method] = log;
  // Node's own listener would write them to standard error.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => log(`${name}: ${message}`));
}
