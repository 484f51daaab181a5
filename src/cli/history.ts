import { type Command } from 'commander';
import { type Options, type Params, SingleBar } from 'cli-progress';
import { readFile } from 'node:fs/promises';
import { describeError, type Sql } from '#libs/database';
import { type Progress, type Verdict, verifyDatabase, verifyFile } from '../history/verify/index.js';

/** Opens the database for the time of the work. */
export type WithDatabase = <Result>(work: (sql: Sql) => Promise<Result>) => Promise<Result>;

type VerifyOptions = { organization?: string; checkpoint: string; key: string };

/** What a shell reports of a program that Ctrl-C ended. */
const INTERRUPTED = 130;

/** Adds `history verify`. The program has the option `--json`. */
export function addHistoryCommands(program: Command, withDatabase: WithDatabase): void {
  const history = program.command('history').description('verify the history');
  const verify = history
    .command('verify')
    .description(
      'compare the history with a checkpoint that was kept: was anything changed, removed or put in?',
    )
    .argument('[file]', 'an export of the whole history (event.export-events)')
    .option('--organization <id>', 'in place of a file: verify the history in the database')
    .requiredOption(
      '--checkpoint <file>',
      'a file with the text that event.get-checkpoint answered as checkpoint',
    )
    .requiredOption('--key <key>', 'the verifier key of the server, or a file that holds it')
    .addHelpText(
      'after',
      `
Tells the first position at which the history is not the one that was sealed. Ends with status 0 if there is none,
with 1 if there is one or nothing could be verified. A file needs no database and no server.`,
    )
    .action(async (file: string | undefined, options: VerifyOptions) => {
      const { organization } = options;
      if ((file === undefined) === (organization === undefined)) {
        verify.error('error: name either the file of an export or --organization');
      }
      const json = verify.optsWithGlobals<{ json?: true }>().json === true;
      const interruption = new AbortController();
      const interrupt = () => {
        interruption.abort();
      };
      process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
      const bar = new ProgressBar();
      try {
        const checkpoint = await readFile(options.checkpoint, 'utf8');
        const key = await keyOf(options.key);
        const how = { signal: interruption.signal, onProgress: (progress: Progress) => bar.show(progress) };
        const verdict =
          file === undefined
            ? await withDatabase((sql) => verifyDatabase(sql, organization!, checkpoint, key, how))
            : await verifyFile(file, checkpoint, key, how);
        bar.end();
        process.stdout.write(json ? `${JSON.stringify(verdict)}\n` : inWords(verdict));
        process.exitCode = verdict.ok ? 0 : 1;
      } catch (error) {
        bar.end();
        process.stderr.write(
          interruption.signal.aborted ? 'Interrupted: nothing was verified.\n' : `${describeError(error)}\n`,
        );
        process.exitCode = interruption.signal.aborted ? INTERRUPTED : 1;
      } finally {
        process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
      }
    });
}

/** A key has a "+" behind its name; everything else is a file. */
async function keyOf(text: string): Promise<string> {
  return /^[^+\s]+\+[0-9a-f]{8}\+/.test(text) ? text : readFile(text, 'utf8');
}

function inWords({ ok, events, provedEvents, firstWrongPosition, reason }: Verdict): string {
  const count = (number: number) => number.toLocaleString('en');
  if (ok) {
    const newer = events - provedEvents;
    const rest = newer > 0 ? ` ${count(newer)} are newer than the checkpoint: the next one proves them.` : '';
    return `The history is what was sealed: ${count(provedEvents)} events are proved.${rest}\n`;
  }
  const proved = provedEvents > 0 ? `The first ${count(provedEvents)} events are proved.\n` : '';
  return firstWrongPosition === null
    ? `The history could not be proved.\n${reason}\n${proved}`
    : `The history is not what was sealed.\nFirst wrong position: ${firstWrongPosition}\n${reason}\n${proved}`;
}

/** On a terminal; written to standard error, as everything that is no result. */
class ProgressBar {
  private bar: SingleBar | undefined;
  private readonly begin = performance.now();

  show({ events, share }: Progress): void {
    if (!this.bar) {
      this.bar = new SingleBar({ format, hideCursor: true, clearOnComplete: true });
      this.bar.start(1, share);
    }
    const seconds = (performance.now() - this.begin) / 1000;
    const remaining = share > 0 ? (seconds * (1 - share)) / share : undefined;
    this.bar.update(share, { events, rate: events / seconds, remaining });
  }

  end(): void {
    this.bar?.stop();
  }
}

type Shown = { events?: number; rate?: number; remaining?: number };

function format(
  { barsize = 40 }: Options,
  { progress }: Params,
  { events = 0, rate = 0, remaining }: Shown,
): string {
  const done = Math.round(progress * barsize);
  const bar = '█'.repeat(done) + '░'.repeat(barsize - done);
  const count = (number: number) => Math.round(number).toLocaleString('en');
  const left = remaining === undefined ? '' : ` | ${duration(remaining)} left`;
  return `${bar} ${Math.floor(progress * 100)} % | ${count(events)} events | ${count(rate)}/s${left}`;
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
