import { type INestApplicationContext } from '@nestjs/common';
import { background, subscriptions, timers } from '../modules.js';
import { type Runtime } from './runtime.js';

/** Background work: subscriptions, timers, and the modules' own workers. */
export class BackgroundWorkers {
  private readonly work;

  constructor(
    private readonly app: INestApplicationContext,
    private readonly runtime: Pick<Runtime, 'subscriptions'>,
  ) {
    this.work = background.map((type) => app.get(type, { strict: false }));
  }

  start(): void {
    const { app, runtime } = this;
    runtime.subscriptions.start(
      subscriptions.map((type) => app.get(type, { strict: false })),
      timers.map((type) => app.get(type, { strict: false })),
    );
    for (const one of this.work) one.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.runtime.subscriptions.stop(), ...this.work.map((one) => one.stop())]);
  }
}
