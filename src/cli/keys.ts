import { type Command } from 'commander';
import { Progress } from './progress.js';
import { type Session, UsageError, withSession } from './session.js';

export function keysCommands(program: Command): void {
  const keys = program.command('keys').description('replace the master key of personal data');
  keys
    .command('rewrap')
    .description('wrap the key of every person with ENCRYPTION_KEY, which replaces ENCRYPTION_KEY_PREVIOUS')
    .addHelpText(
      'after',
      '\nServers go on meanwhile: all must have both keys. Interrupted anywhere, it is run again and goes on. Prints\n' +
        '{ "rewrapped", "unreadable" }: the keys that it wrapped anew, and those that open with neither master, because\n' +
        'somebody changed them: status 1. docs/guides/keys.md has all steps.',
    )
    .action(() => withSession(program, rewrap));
}

async function rewrap({ runtime }: Session): Promise<{ rewrapped: number; unreadable: number }> {
  const { source, store, projections } = runtime;
  const { keyring } = store;
  if (keyring.state === 'first') {
    throw new UsageError(
      'ENCRYPTION_KEY is the key that everything is wrapped with. To replace it, set ENCRYPTION_KEY to the new key and ' +
        'ENCRYPTION_KEY_PREVIOUS to this one, here and for every server.',
    );
  }
  const { Rewrapping } = await import('#libs/event-store');
  const rewrapping = new Rewrapping(source, keyring);
  const fault = await rewrapping.takeOver(async (transaction) => {
    const without = await projections.instancesWithout(keyring.ids[0]!, transaction);
    if (without === 0) return;
    throw new UsageError(
      `Nothing was changed: ${without} ${without === 1 ? 'server or command runs' : 'servers or commands run'} without the ` +
        'new ENCRYPTION_KEY, or of a version that cannot replace keys, or ended without notice within the last minute. They ' +
        'could not read what is wrapped with it. Start all with both keys, and run this again.',
    );
  });
  if (fault !== undefined) {
    throw new UsageError(
      fault === 'unfinished'
        ? 'Keys are still wrapped with the key before ENCRYPTION_KEY_PREVIOUS: finish that keys rewrap first.'
        : 'Another keys rewrap has replaced the key meanwhile.',
    );
  }
  const answer = { rewrapped: 0, unreadable: 0 };
  const total = await rewrapping.count();
  const progress = new Progress('keys', () => ({ count: answer.rewrapped, done: answer.rewrapped, total }));
  try {
    for await (const page of rewrapping.pages()) {
      answer.rewrapped += page.rewrapped;
      answer.unreadable += page.unreadable;
    }
  } finally {
    progress.stop();
  }
  await rewrapping.finish();
  if (answer.unreadable > 0) {
    process.exitCode = 1;
    process.stderr.write(
      'Keys that open with neither master were left alone: somebody changed them, and nobody can read these persons. ' +
        'history verify tells whose they are; a backup has them.\n',
    );
  }
  return answer;
}
