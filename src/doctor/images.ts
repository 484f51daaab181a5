import { openStorage, StorageUnreachable } from '#libs/storage';
import { silenceAmazon } from '../environment.js';
import { ok, problem } from './finding.js';
import { type Check } from './deployment.js';

/** Whether the bucket of images answers: it is asked for a file that is not there. */
export const images: Check = {
  name: 'images',
  async examine({ config, isWrong }) {
    const { storage, databaseUrl } = config;
    if (isWrong('STORAGE_URL')) return [];
    if (!storage) {
      const shared = databaseUrl === undefined ? '' : ', which all instances have to share';
      return [ok(`Images are kept in files under DATA_DIR/images${shared}.`)];
    }
    try {
      silenceAmazon();
      await (await openStorage(storage)).sizeOf('doctor');
      return [ok('The bucket of images answers.')];
    } catch (error) {
      if (!(error instanceof StorageUnreachable)) throw error;
      return [
        problem(
          `${error.message} Uploads are refused, and images are not shown; all else is served.`,
          'Mend STORAGE_URL, AWS_REGION, AWS_ENDPOINT_URL_S3, the credentials and what they may, or what stands between.',
        ),
      ];
    }
  },
};
