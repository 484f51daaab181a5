export { FormsModule } from './forms.module.js';
export { form, STATUSES } from './form.js';
export { forms } from './forms.js';
export { UpdateForm } from './update-form.js';
export { ConfirmSignUp } from './confirm-sign-up.js';
export { RequestSignUp } from './request-sign-up.js';
export { signUps } from './sign-up.js';
