import { handlerOf, Id, Operation, recordSchema } from '#libs/rpc';
import { Submission, Submissions } from './submissions.js';

@Operation({
  name: 'form.submit-form',
  scope: 'form:submit',
  object: 'submission',
  summary: 'Submit a sign-up form',
  description:
    'Does what the page of the form does, with the same checks, for a form on your own website. Send it from the browser ' +
    'with a publishable key. The person gets an email to confirm, unless `confirmation` of the form is `NONE`. The response ' +
    'is the same whether they are a contact or not.',
  answers: recordSchema({
    formId: { type: 'string' },
    confirmation: {
      type: 'string',
      enum: ['EMAIL', 'NONE'],
      description: '`EMAIL`: tell the person to open the link in the email.',
    },
  }),
})
export class SubmitForm extends Submission {
  @Id()
  formId!: string;
}

export const SubmitFormHandler = handlerOf(SubmitForm, [Submissions], async (command, submissions) => {
  const { formId } = command;
  return { formId, ...(await submissions.submit('forms', formId, command)) };
});
