import { search, SEARCH_RULE } from '#libs/projections';
import { listHandler } from '#libs/resources';
import { Operation, PageInput, Text } from '#libs/rpc';
import { forms, formSchema } from './forms.js';

@Operation({
  name: 'form.list-forms',
  summary: 'List sign-up forms',
  answers: formSchema,
  list: true,
})
export class ListForms extends PageInput('name') {
  @Text({ max: 200, optional: true, description: `Part of the name or the title. ${SEARCH_RULE}` })
  q?: string;
}

export const ListFormsHandler = listHandler(ListForms, forms, ({ q }) => [search(['name', 'title'], q)]);
