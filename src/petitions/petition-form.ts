/** Details of a contact that a form can ask for, next to the email address, which every form does; and a comment. */
export const STANDARD_FIELDS = [
  'firstName',
  'lastName',
  'zip',
  'city',
  'region',
  'country',
  'phone',
  'comment',
] as const;
export type StandardField = (typeof STANDARD_FIELDS)[number];

export type FormField = { fieldId: string; required: boolean };

export type PetitionForm = {
  /** In this order. Each has a `fieldId` or a `field`. Custom fields that were deleted since are ignored. */
  fields: (FormField | { field: StandardField; required: boolean })[];
  /** The checkbox to subscribe. */
  consent: {
    /** null: the site's text, in the language of the page. */
    text: string | null;
    required: boolean;
  };
};

const COMMENT = { field: 'comment', required: false } as const;

/** The form of a new petition: every further field costs signatures. */
export function newForm(takesComments: boolean): PetitionForm {
  return {
    fields: [
      { field: 'firstName', required: true },
      { field: 'lastName', required: false },
      ...(takesComments ? [COMMENT] : []),
    ],
    consent: { text: null, required: false },
  };
}

/** The form with these custom fields on a petition from before forms could be chosen. */
export function formWith(customFields: readonly FormField[]): PetitionForm {
  return {
    fields: [
      { field: 'firstName', required: true },
      { field: 'lastName', required: false },
      { field: 'zip', required: false },
      { field: 'country', required: false },
      ...customFields,
      COMMENT,
    ],
    consent: { text: null, required: false },
  };
}

export function customFieldsOf({ fields }: PetitionForm): FormField[] {
  return fields.filter((field) => 'fieldId' in field);
}

/** Replaces the custom fields of a form. They stay where the first one was, or come before the comment. */
export function withCustomFields(form: PetitionForm, customFields: readonly FormField[]): PetitionForm {
  const before = form.fields.findIndex((field) => 'fieldId' in field || field.field === 'comment');
  const place = before < 0 ? form.fields.length : before;
  const isStandard = (field: PetitionForm['fields'][number]) => 'field' in field;
  const fields = [
    ...form.fields.slice(0, place).filter(isStandard),
    ...customFields,
    ...form.fields.slice(place).filter(isStandard),
  ];
  return { ...form, fields };
}

/** A petition that shows comments asks for them, unless its form says otherwise. */
export function withComment(form: PetitionForm): PetitionForm {
  const asksForIt = form.fields.some((field) => 'field' in field && field.field === 'comment');
  return asksForIt ? form : { ...form, fields: [...form.fields, COMMENT] };
}
