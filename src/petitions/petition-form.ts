/** Details of a contact that a form can ask for, next to the email address, which every form does; and a comment. */
type StandardField = 'firstName' | 'lastName' | 'zip' | 'city' | 'region' | 'country' | 'phone' | 'comment';

/** A custom field that a form asks for. */
export type FormField = { fieldId: string; required: boolean };

/**
 * The form on a petition's page. `fields`: in this order. It ignores custom fields that were deleted since.
 * `consent`: the checkbox to subscribe. Its text is null for that of the site, in the language of the page.
 */
export type PetitionForm = {
  fields: (FormField | { field: StandardField; required: boolean })[];
  consent: { text: string | null; required: boolean };
};

/** The form with these custom fields on a petition that has no other choice. */
export function formWith(customFields: readonly FormField[]): PetitionForm {
  return {
    fields: [
      { field: 'firstName', required: true },
      { field: 'lastName', required: false },
      { field: 'zip', required: false },
      { field: 'country', required: false },
      ...customFields,
      { field: 'comment', required: false },
    ],
    consent: { text: null, required: false },
  };
}

export function customFieldsOf({ fields }: PetitionForm): FormField[] {
  return fields.filter((field) => 'fieldId' in field);
}
