# a polynomial by Horner's rule, y = w * y + c for each coefficient: the graph has one step, for any number of them
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

cs = tf.placeholder(tf.float32, shape=[None], name="cs")
w = tf.placeholder(tf.float32, shape=[], name="w")
_, y = tf.while_loop(
    lambda i, y: i < tf.size(cs),
    lambda i, y: (i + 1, w * y + tf.gather(cs, i)),
    [tf.constant(0), tf.constant(0.0)],
)
grad = tf.gradients(y, w)[0]

with tf.Session() as sess:
    for numbers in ([1.0, 2.0], [1.0, 2.0, 3.0]):
        print(numbers, "->", *sess.run([y, grad], feed_dict={cs: numbers, w: 0.5}))
