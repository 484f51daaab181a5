import { getHandler } from '#libs/resources';
import { Operation, PastInput } from '#libs/rpc';
import { invalidations, invalidationSchema } from './invalidations.js';

@Operation({
  name: 'petition.get-invalidation',
  summary: 'Retrieve an invalidation of signatures',
  description: 'Returns its progress and the conditions it was created with.',
  answers: invalidationSchema,
})
export class GetInvalidation extends PastInput('invalidationId', 'invalidation') {}

export const GetInvalidationHandler = getHandler(GetInvalidation, invalidations);
