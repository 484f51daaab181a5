import { canServeTogether, describeRelease, liveReleases } from '#libs/projections';
import { programVersion } from '../environment/index.js';
import { type DatabaseCheck } from './deployment.js';

/** Whether the instances on this database run releases that are compatible with each other and with this one. */
export const releases: DatabaseCheck = {
  name: 'releases',
  async examine({ database }, found) {
    const own = programVersion();
    const live = await liveReleases(database);
    for (const other of live.filter(({ release }) => !canServeTogether(own, release)))
      found.problem(
        `${describeRelease(other)} cannot run together with ${own}, because each may write data that the other cannot read.`,
        'Stop them, or all instances of this version, and upgrade one minor version at a time: docs/guides/upgrades.md.',
      );
    const list = live.map(describeRelease).join(', ');
    return live.length === 0 ? 'No instance is running.' : `Running: ${list}. Compatible with ${own}.`;
  },
};
