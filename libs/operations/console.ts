import { type LoggerService } from '@nestjs/common';
import { format } from 'node:util';

/** Texts that are remembered, so that none is told twice. */
const MOST_TEXTS = 1_000;

/**
 * From now on what libraries print by themselves, and Node's own warnings, are lines of the log. Each text once: some print
 * the same with every connection.
 */
export function logConsole(logger: Pick<LoggerService, 'warn'>): void {
  const told = new Set<string>();
  const tell = (...parts: unknown[]) => {
    const text = format(...parts);
    if (told.has(text) || told.size >= MOST_TEXTS) return;
    told.add(text);
    logger.warn({ message: 'library warning', text });
  };
  for (const method of ['debug', 'log', 'info', 'warn', 'error'] as const) console[method] = tell;
  // Node's own listener writes them to standard error.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => tell(`${name}: ${message}`));
}
