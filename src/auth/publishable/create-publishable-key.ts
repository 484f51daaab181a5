import { createHandler } from '#libs/resources';
import { Input, Operation, Text } from '#libs/rpc';
import { type PublishableKeyEvent } from './publishable-key.js';
import { Origins, publishableKeyIdSchema, publishableKeys } from './publishable-keys.js';

@Operation({
  name: 'publishable-key.create-publishable-key',
  scope: 'api-key:write',
  summary: 'Create a publishable key',
  description:
    'A publishable key may be part of a page. It only requests signatures (`petition.request-signature`) and submits ' +
    'forms (`form.submit-form`), only on the websites in `origins`, and with the same checks as the public site. ' +
    '`publishable-key.get-publishable-key` returns the key. Sending the same body again returns the first key, as ' +
    'long as it exists and still has that name.',
  answers: publishableKeyIdSchema,
})
export class CreatePublishableKey extends Input {
  @Text({ max: 200, example: 'Website' })
  name!: string;

  @Origins()
  origins!: string[];
}

export const CreatePublishableKeyHandler = createHandler(
  CreatePublishableKey,
  publishableKeys,
  ({ name, origins }): PublishableKeyEvent => ({ type: 'PublishableKeyCreated', data: { name, origins } }),
);
