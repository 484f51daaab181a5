import { join } from 'node:path';
import { openStorage, StorageUnreachable } from '#libs/storage';
import { silenceAmazon } from '../environment/index.js';
import { unwritable } from './directory.js';
import { type Check } from './deployment.js';

/** Whether images can be stored: the directory is writable, or the bucket responds to a request for a missing file. */
export const images: Check = {
  name: 'images',
  async examine({ config, isWrong }, found) {
    const { storage, databaseUrl, dataDirectory } = config;
    if (isWrong('STORAGE_URL')) return undefined;
    if (!storage) {
      const code = await unwritable(join(dataDirectory, 'images'));
      if (code !== undefined)
        return found.warning(
          `This user cannot write to DATA_DIR/images (${code}), so uploads are rejected.`,
          'Set STORAGE_URL to a bucket, or make DATA_DIR writable by the user that runs the instances.',
        );
      const shared = databaseUrl === undefined ? '' : ', which all instances must share';
      return `Images are stored in DATA_DIR/images${shared}.`;
    }
    try {
      silenceAmazon();
      await (await openStorage(storage)).sizeOf('doctor');
      return 'The image bucket responds.';
    } catch (error) {
      if (!(error instanceof StorageUnreachable)) throw error;
      return found.problem(
        `${error.message} Uploads fail and images are not shown. Everything else works.`,
        'Check STORAGE_URL, AWS_REGION, AWS_ENDPOINT_URL_S3, the credentials and their rights, and the network.',
      );
    }
  },
};
