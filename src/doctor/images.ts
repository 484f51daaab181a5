import { openStorage, StorageUnreachable } from '#libs/storage';
import { silenceAmazon } from '../environment/index.js';
import { ok, problem } from './finding.js';
import { type Check } from './deployment.js';

/** Whether the image bucket responds. Requests a file that does not exist. */
export const images: Check = {
  name: 'images',
  async examine({ config, isWrong }) {
    const { storage, databaseUrl } = config;
    if (isWrong('STORAGE_URL')) return [];
    if (!storage) {
      const shared = databaseUrl === undefined ? '' : ', which all instances must share';
      return [ok(`Images are stored in DATA_DIR/images${shared}.`)];
    }
    try {
      silenceAmazon();
      await (await openStorage(storage)).sizeOf('doctor');
      return [ok('The image bucket responds.')];
    } catch (error) {
      if (!(error instanceof StorageUnreachable)) throw error;
      return [
        problem(
          `${error.message} Uploads fail and images are not shown. Everything else works.`,
          'Check STORAGE_URL, AWS_REGION, AWS_ENDPOINT_URL_S3, the credentials and their rights, and the network.',
        ),
      ];
    }
  },
};
