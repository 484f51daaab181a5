import { type Command } from 'commander';
import { type Examined } from '../doctor/index.js';
import { loadEnvironment } from '../environment/index.js';

export function doctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('check the configuration, the database, Redis and the stored data, and suggest fixes')
    .addHelpText(
      'after',
      `
Read-only, and works even if the server cannot start. Prints one line per finding: ok, warning or problem. With --json,
prints { "ok", "findings": [{ "check", "level", "message", "advice" }] }. Exits with status 1 if there is a problem.
Never shows secrets.`,
    )
    .action(async () => {
      // `doctor | head` closes the pipe early. The exit status still reports problems.
      process.stdout.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EPIPE') throw error;
      });
      const json = program.opts<{ json?: true }>().json === true;
      const findings: Examined[] = [];
      const { inspectConfig } = await import('../config/index.js');
      const { counted, examine } = await import('../doctor/index.js');
      for await (const finding of examine(inspectConfig(loadEnvironment()))) {
        findings.push(finding);
        if (!json) process.stdout.write(inWords(finding));
      }
      const problems = findings.filter(({ level }) => level === 'problem').length;
      const warnings = findings.filter(({ level }) => level === 'warning').length;
      if (json) process.stdout.write(`${JSON.stringify({ ok: problems === 0, findings })}\n`);
      else process.stdout.write(`${counted(problems, 'problem')}, ${counted(warnings, 'warning')}\n`);
      if (problems > 0) process.exitCode = 1;
    });
}

function inWords({ check, level, message, advice }: Examined): string {
  const what = `${level.padEnd(8)} ${check.padEnd(15)} ${message}`;
  return advice === undefined ? `${what}\n` : `${what} → ${advice}\n`;
}
