(defun f (x)
