import { createHandler } from '#libs/resources';
import { Operation, Text } from '#libs/rpc';
import { type ViewEvent } from './view.js';
import { viewIdSchema, views } from './views.js';
import { requireParameters, ViewFieldsInput } from './view-fields.js';

@Operation({
  name: 'view.create-view',
  summary: 'Create a view',
  description:
    'Saves the filters, the order and the columns of a list. The dashboard shows the view above that list. Sending the ' +
    'same body again returns the first view, as long as it exists and still has that name. To create an identical ' +
    'one, send an `Idempotency-Key`.',
  answers: viewIdSchema,
})
export class CreateView extends ViewFieldsInput {
  @Text({ max: 200, example: 'Subscribers in Berlin' })
  override name!: string;

  @Text({
    max: 100,
    description: 'The operation that lists the records. It never changes.',
    example: 'contact.list-contacts',
  })
  operation!: string;
}

export const CreateViewHandler = createHandler(
  CreateView,
  views,
  ({ name, operation, parameters = {}, columns = [] }): ViewEvent => {
    requireParameters(operation, parameters);
    return { type: 'ViewCreated', data: { name, operation, parameters, columns } };
  },
);
