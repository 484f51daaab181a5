import { changeHandler } from '#libs/resources';
import { Id, Operation } from '#libs/rpc';
import { updateView } from './view.js';
import { requireParameters, ViewFieldsInput } from './view-fields.js';
import { views, viewSchema } from './views.js';

@Operation({
  name: 'view.update-view',
  summary: 'Update a view',
  description:
    'Changes only the fields you send. `parameters` and `columns` replace the previous ones completely.',
  answers: viewSchema,
})
export class UpdateView extends ViewFieldsInput {
  @Id()
  viewId!: string;
}

export const UpdateViewHandler = changeHandler(UpdateView, views, (state, { name, parameters, columns }) =>
  updateView(state, { name, parameters, columns }, requireParameters),
);
