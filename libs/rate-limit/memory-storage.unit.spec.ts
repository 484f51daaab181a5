import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryStorage } from './memory-storage.js';
import { itIsASlidingWindow } from './storage.contract.js';

describe('MemoryStorage', () => {
  itIsASlidingWindow(() => new MemoryStorage());

  it('forgets callers after their window', async () => {
    const storage = new MemoryStorage();
    for (let n = 0; n < 1_000; n++) await storage.increment(`caller-${n}`, 20, 10);
    await sleep(25);
    await storage.increment('one', 20, 10);
    await sleep(25);
    await storage.increment('two', 20, 10);
    expect(storage.size).toBeLessThanOrEqual(2);
  });

  it('remembers a caller for the longest window, whatever other callers arrive', async () => {
    const storage = new MemoryStorage();
    await storage.increment('slow', 60_000, 1);
    for (let n = 0; n < 3; n++) {
      await storage.increment('quick', 5, 1);
      await sleep(10);
    }
    expect(await storage.increment('slow', 60_000, 1)).toMatchObject({ isBlocked: true });
  });

  it('remembers at most the allowed number of callers in a flood of addresses', async () => {
    const storage = new MemoryStorage(1_000);
    for (let n = 0; n < 10_000; n++) await storage.increment(`caller-${n}`, 3_600_000, 10);
    expect(storage.size).toBeLessThanOrEqual(2_000);
  });
});
