# double x until it is 100 or more: the loop is part of the graph, whatever is fed
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

x = tf.placeholder(tf.float32, shape=[], name="x")
steps, y = tf.while_loop(
    lambda i, v: v < 100.0,
    lambda i, v: (i + 1, v * 2.0),
    [tf.constant(0, name="i"), x],
)
grad = tf.gradients(y, x)[0]

with tf.Session() as sess:
    for value in (12.0, 40.0, 200.0):
        print(value, "->", *sess.run([steps, y, grad], feed_dict={x: value}))
print("operations:", len(tf.get_default_graph().get_operations()))

with tf.Graph().as_default():  # Python's own while has to know the value now
    z = tf.placeholder(tf.float32, shape=[], name="z")
    try:
        while z < 100.0:
            z = z * 2.0
    except TypeError as error:
        print("Python's while:", error)
