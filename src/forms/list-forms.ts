import { search, SEARCH_RULE } from '#libs/projections';
import { Resources } from '#libs/resources';
import { handlerOf, Operation, PageInput, Text } from '#libs/rpc';
import { FormCompletion } from './ask-subscribers.js';
import { form } from './form.js';
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

export const ListFormsHandler = handlerOf(
  ListForms,
  [Resources, FormCompletion],
  async (query, resources, completion) => {
    const { organizationId, q = '' } = query;
    // The default title of the built-in form is not stored.
    const title = q === '' ? '' : await completion.titleOf(organizationId, null);
    const place = title.toLowerCase().indexOf(q.toLowerCase());
    const isFound = q.length < 3 ? place === 0 : place >= 0;
    const builtIn = { sql: '(id = ? AND title IS NULL)', value: form.builtIn!.idIn(organizationId) };
    return resources.list(forms, query, [search(['name', 'title'], query.q, isFound ? builtIn : undefined)]);
  },
);
